"""Runs a block's bench with coverage."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tb.runner import run_bench
from verification.targets import TARGETS

from .points import LINE, TOGGLE, Point, read_points

__all__ = ["SCALE", "Measured", "measure"]

SCALE = 5
"""Of the benches: how many times as much random traffic as at the shortest."""
# Of Verilator; for expressions its coverage fails on memories.
_ARGUMENTS = ("--coverage-line", "--coverage-toggle")


@dataclass(frozen=True)
class Measured:
    """What a bench ran through.

    Attributes
    ----------
    block : str
    points : Counter
        Hits of Verilator's points.
    functional : dict of str to int
        Hits of the bench's own points.
    """

    block: str
    points: Counter[Point]
    functional: dict[str, int]

    def share(self, kind: str) -> tuple[int, int]:
        """Points of a kind that were hit, and all of them."""
        hits = [count for point, count in self.points.items() if point.kind == kind]
        return sum(count > 0 for count in hits), len(hits)

    def holes(self) -> list[tuple[str, str, int]]:
        """Kind, group and number of points that were not hit, by group."""
        missed = Counter(
            (point.kind, point.group) for point, count in self.points.items() if not count
        )
        return [(kind, group, count) for (kind, group), count in sorted(missed.items())]

    def functional_holes(self) -> list[str]:
        return [name for name, count in self.functional.items() if not count]

    def shares(self) -> dict[str, tuple[int, int]]:
        """Hits and points of each kind, the functional ones too."""
        hit = sum(count > 0 for count in self.functional.values())
        both = {kind: self.share(kind) for kind in (LINE, TOGGLE)}
        return both | {"functional": (hit, len(self.functional))}


def measure(name: str, *, seed: int, folder: Path) -> Measured:
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
    return Measured(name, read_points(folder / "coverage.dat", verilog), functional)
