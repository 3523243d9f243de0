"""Measurement of the coverage that a block's bench reaches."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tb.runner import run_bench
from verification.targets import TARGETS

from .points import LINE, TOGGLE, Point, read_points

__all__ = ["SCALE", "BlockCoverage", "measure"]

SCALE = 5
"""Amount of random traffic of the benches, as a multiple of the shortest run."""
# Verilator's expression coverage fails on memories and stays off.
_ARGUMENTS = ("--coverage-line", "--coverage-toggle")


@dataclass(frozen=True)
class BlockCoverage:
    """Coverage of one block by its bench.

    Attributes
    ----------
    points : Counter
        Hits of Verilator's coverage points.
    functional : dict of str to int
        Hits of the bench's own cover points.
    """

    block: str
    points: Counter[Point]
    functional: dict[str, int]

    def share(self, kind: str) -> tuple[int, int]:
        """Count the points of a kind that were hit, and all points of that kind."""
        hits = [count for point, count in self.points.items() if point.kind == kind]
        return sum(count > 0 for count in hits), len(hits)

    def holes(self) -> list[tuple[str, str, int]]:
        """List kind, group and number of the points that were not hit, by group."""
        missed = Counter(
            (point.kind, point.group) for point, count in self.points.items() if not count
        )
        return [(kind, group, count) for (kind, group), count in sorted(missed.items())]

    def functional_holes(self) -> list[str]:
        return [name for name, count in self.functional.items() if not count]

    def shares(self) -> dict[str, tuple[int, int]]:
        """Count hits and points of each kind, including the functional ones."""
        hit = sum(count > 0 for count in self.functional.values())
        both = {kind: self.share(kind) for kind in (LINE, TOGGLE)}
        return both | {"functional": (hit, len(self.functional))}


def measure(name: str, *, seed: int, folder: Path) -> BlockCoverage:
    """Run the bench of one of :data:`~verification.targets.TARGETS`.

    Raises
    ------
    AssertionError
        If the bench fails.
    """
    target = TARGETS[name]
    functional = run_bench(
        target.make(),
        name=name,
        test_module=target.module,
        directory=folder,
        seed=seed,
        scale=SCALE,
        build_arguments=_ARGUMENTS,
        quiet=True,
    )
    verilog = (folder / f"{name}.v").read_text(encoding="utf-8")
    return BlockCoverage(name, read_points(folder / "coverage.dat", verilog), functional)
