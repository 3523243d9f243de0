"""Tiling of a GEMM: macro-tiles, their wavefronts, and the steps of the K loop."""

from dataclasses import dataclass

from sysmodel.config.workload import ELEMENT_BYTES
from sysmodel.gpu.atoms import ATOM_BYTES

__all__ = ["Tiling"]


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """GEMM of m × n × k elements, cut into a grid of macro-tiles with a workgroup for each.

    A and B are stored with K contiguous (the TN layout of the BLAS). A workgroup has ``waves_m`` ×
    ``waves_n`` wavefronts, and loads ``prefetch_depth`` depth-U steps ahead.
    """

    m: int
    n: int
    k: int
    tile_m: int
    tile_n: int
    depth_u: int
    waves_m: int
    waves_n: int
    prefetch_depth: int

    def __post_init__(self) -> None:
        for name in ("waves_m", "waves_n"):
            if getattr(self, name) not in (1, 2, 4):
                raise ValueError(f"kernel.{name} must be 1, 2 or 4, not {getattr(self, name)}")

    @property
    def grid_m(self) -> int:
        """Rows of macro-tiles."""
        return -(-self.m // self.tile_m)

    @property
    def grid_n(self) -> int:
        """Columns of macro-tiles."""
        return -(-self.n // self.tile_n)

    @property
    def workgroups(self) -> int:
        return self.grid_m * self.grid_n

    @property
    def waves(self) -> int:
        return self.waves_m * self.waves_n

    @property
    def steps(self) -> int:
        """Depth-U steps of the K loop."""
        return -(-self.k // self.depth_u)

    @property
    def operand_stride(self) -> int:
        """Atoms from a row of A or B to the next one."""
        return -(-self.k * ELEMENT_BYTES // ATOM_BYTES)

    @property
    def step_flops(self) -> int:
        """Floating-point operations of a workgroup in a full depth-U step."""
        return 2 * self.tile_m * self.tile_n * self.depth_u

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def output_bytes(self) -> int:
        return self.m * self.n * ELEMENT_BYTES
