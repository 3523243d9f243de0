"""Simulations that a sweep has still to do."""

from dataclasses import dataclass, replace

from .grid import Grid
from .point import Point
from .rows import Rows, complete

__all__ = ["Job", "missing_jobs"]


@dataclass(frozen=True)
class Job:
    """A simulation, with the configurations that are missing; and the titles of the grid's points
    that it serves."""

    point: Point
    titles: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Expected work, in cycles."""
        return self.point.expected_cycles


def missing_jobs(grid: Grid, results: dict[str, Rows]) -> list[Job]:
    """Each simulation that lacks a result, once, the longest first: none is left for the end."""
    alike: dict[str, list[Point]] = {}
    for point in grid.points:
        if not complete(point, results):
            alike.setdefault(point.identity, []).append(point)
    jobs = []
    for identity, points in alike.items():
        first, have = points[0], results.get(identity, {})
        asked = dict.fromkeys(name for one in points for name in one.options.configurations)
        options = replace(
            first.options, configurations=tuple(name for name in asked if name not in have)
        )
        titles = tuple(one.title(grid.system_keys) for one in points)
        jobs.append(Job(replace(first, options=options), titles))
    return sorted(jobs, key=lambda job: -job.cost)
