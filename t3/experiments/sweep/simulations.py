"""Simulations that a sweep still has to run."""

from dataclasses import dataclass, replace

from .grid import Grid
from .point import Point
from .rows import Rows, complete

__all__ = ["Simulation", "missing_simulations"]


@dataclass(frozen=True)
class Simulation:
    """A point with the configurations that lack results.

    Attributes
    ----------
    titles : tuple of str
        Titles of the grid's points that share the results.
    """

    point: Point
    titles: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Expected work, in cycles."""
        return self.point.expected_cycles


def missing_simulations(grid: Grid, results: dict[str, Rows]) -> list[Simulation]:
    """List each simulation that lacks a result once, the longest first, so that no long one begins
    last.
    """
    alike: dict[str, list[Point]] = {}
    for point in grid.points:
        if not complete(point, results):
            alike.setdefault(point.identity, []).append(point)
    simulations = []
    for identity, points in alike.items():
        first, have = points[0], results.get(identity, {})
        asked = dict.fromkeys(name for one in points for name in one.options.configurations)
        options = replace(
            first.options, configurations=tuple(name for name in asked if name not in have)
        )
        titles = tuple(one.title(grid.system_keys) for one in points)
        simulations.append(Simulation(replace(first, options=options), titles))
    return sorted(simulations, key=lambda one: -one.cost)
