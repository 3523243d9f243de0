"""Extrapolation of a GEMM that is too large to simulate from smaller ones.

A time or a count of bytes is assumed to be linear in the depth of the sums, as long as the GEMM
hides its reduce-scatter, and as linear in the rows, with the same columns, chunks and order of
workgroups.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sysmodel.config.system import System
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel

from .run_network import RunNetwork

__all__ = ["ExtrapolatedKernel", "SizeChoice"]

_HIDDEN = 2  # a GEMM that takes this multiple of its reduce-scatter's time certainly hides it


@dataclass(frozen=True)
class ExtrapolatedKernel:
    """GEMM, and the GEMMs that are simulated for it.

    Parameters
    ----------
    kernel : Kernel
        GEMM whose times and counts are needed.
    base : Kernel
        Largest GEMM that is simulated; the kernel itself if that is not too large.
    smaller : tuple of Kernel
        GEMMs with fewer rows, or with less depth, than the base.
    """

    kernel: Kernel
    base: Kernel
    smaller: tuple[Kernel, ...] = ()

    @property
    def simulated(self) -> tuple[Kernel, ...]:
        return self.base, *self.smaller

    def value(self, of: Callable[[Kernel], float], *, deepens: bool = True) -> Fraction:
        """Time or count of the GEMM, from the values ``of`` the simulated GEMMs.

        ``deepens``: the value depends on the depth of the sums.
        """
        base = Fraction(of(self.base))
        value = base
        for one in self.smaller:
            if one.tiling.k != self.base.tiling.k and not deepens:
                continue
            grown = _growth(self.kernel.tiling, self.base.tiling, one.tiling)
            value *= 1 + grown * (1 - Fraction(of(one)) / base) if base else 0
        return value


def _growth(whole: Tiling, base: Tiling, smaller: Tiling) -> Fraction:
    """Step from the base to the whole, in steps from the smaller size to the base."""
    if smaller.m != base.m:
        return Fraction(whole.m - base.m, base.m - smaller.m)
    return Fraction(whole.k - base.k, base.k - smaller.k)


def _with_rows(kernel: Kernel, rows: int) -> Kernel:
    """Same kernel with another number of rows, and with the same cut into chunks."""
    fewer = kernel.resized(m=rows)
    return replace(fewer, chunks=replace(fewer.chunks, grid=kernel.chunks.cut))


@dataclass(frozen=True)
class SizeChoice:
    """Choice of the sizes to simulate on a system.

    Work is counted in cycles of the hardware's clock at the peaks of pipes and link, times the
    simulated channels of all simulated GPUs, plus one for the rest of each GPU.

    Parameters
    ----------
    channels : int
        Simulated channels of a GPU.
    mirror : bool
        One GPU stands for all.
    network : RunNetwork
        Links between the GPUs.
    """

    system: System
    channels: int
    mirror: bool
    network: RunNetwork

    def of(self, kernel: Kernel, most_work: float) -> ExtrapolatedKernel:
        """Choose the kernel itself if it takes at most ``most_work``, otherwise up to three smaller
        kernels that together take no more, or as little as possible.
        """
        if self.work(kernel) <= most_work and kernel.is_mapped:
            return ExtrapolatedKernel(kernel, kernel)
        *less_depth, depth = self._depths(kernel, most_work)
        deepest = kernel.resized(k=depth)
        *fewer_rows, rows = self._rows(deepest, most_work / (1 + len(less_depth) / 2))
        base = _with_rows(deepest, rows)
        smaller = (
            *(base.resized(m=m) for m in fewer_rows),
            *(base.resized(k=k) for k in less_depth),
        )
        return ExtrapolatedKernel(kernel, base, smaller)

    def work(self, kernel: Kernel) -> float:
        """Work of simulating one configuration of a kernel."""
        gpus = 1 if self.mirror else kernel.gpus
        link_ns = self._link_ns(kernel)
        cycles = (max(self._gemm_ns(kernel), link_ns) + link_ns) / self.system.cycle_ns
        return cycles * (self.channels + 1) * gpus

    def _gemm_ns(self, kernel: Kernel) -> float:
        return kernel.tiling.flops / self.system.peak_flops_per_ns

    def _link_ns(self, kernel: Kernel) -> float:
        """Time of a reduce-scatter, or of an all-gather, at the link's lower rate of
        payload."""
        share = (kernel.gpus - 1) / kernel.gpus
        return kernel.output_bytes * share / self.network.slowest_gb_per_s

    def _depths(self, kernel: Kernel, most_work: float) -> tuple[int, ...]:
        """Depth of the sums, or two smaller depths with which the GEMM still hides the
        reduce-scatter.
        """
        unit, depth = kernel.tiling.depth_u, kernel.tiling.k
        least = depth * _HIDDEN * self._link_ns(kernel) / self._gemm_ns(kernel)
        smallest = unit * max(1, -int(-least // unit))
        if 4 * smallest > depth:
            return (depth,)
        fitting = [
            k
            for k in range(smallest, depth // 4, unit)
            if self.work(kernel.resized(k=k)) + self.work(kernel.resized(k=2 * k)) <= most_work
        ]
        small = max(fitting, default=smallest)
        return small, 2 * small

    def _rows(self, kernel: Kernel, most_work: float) -> tuple[int, ...]:
        """Number of rows, or two smaller numbers."""
        # Without an equal cut, as many rows as give each GPU a workgroup.
        tiling, cut = kernel.tiling, kernel.chunks.cut
        least = cut[0] if cut else -(-kernel.gpus // tiling.grid_n)
        step = tiling.tile_m * least
        most = -(-tiling.m // step)

        def of(steps: int) -> Kernel:
            return _with_rows(kernel, steps * step)

        if self.work(kernel) <= most_work and kernel.is_mapped:
            return (tiling.m,)
        sizes = map(of, range(1, most))
        fitting = [one for one in sizes if self.work(one) <= 2 / 3 * most_work and one.is_mapped]
        # Bands as high as the whole's, if there can be two sizes of them.
        banded = [one for one in fitting if one.chunks.band == kernel.chunks.band]
        *others, large = next(
            (choice for choice in (banded, fitting) if len(choice) > 1), [of(1), of(2)]
        )
        if large.tiling.m >= tiling.m:
            return (tiling.m,)
        small = min(others, key=lambda one: self._unevenness(large, one))
        return small.tiling.m, large.tiling.m

    def _unevenness(self, large: Kernel, small: Kernel) -> tuple[float, float]:
        """Deviation of two sizes from a difference of full rounds of workgroups, and from a ratio
        of one half.
        """
        gpu = self.system.gpu
        rounds = (large.workgroups - small.workgroups) / (gpu.compute_units * gpu.workgroups_per_cu)
        off = abs(rounds / max(1, round(rounds)) - 1)
        half = abs(small.workgroups / large.workgroups - 0.5)
        return round(off, 2) + (half > 0.3), half
