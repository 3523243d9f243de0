"""Inventory: areas of all blocks, and their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtl.parameters import T3Parameters
from sysmodel.lib.progress import Report

from .area import NOTHING, Area
from .blocks import MEASURED, MeasuredBlock
from .measure import Job, measure, measure_area

__all__ = ["Inventory", "area_jobs", "measure_inventory"]


@dataclass(frozen=True)
class Inventory:
    """Blocks and their areas.

    Parameters
    ----------
    areas : mapping of str to Area
        Area of one instance, by name of the block.
    """

    parameters: T3Parameters
    areas: Mapping[str, Area]

    @property
    def blocks(self) -> list[MeasuredBlock]:
        return [block for block in MEASURED if block.name in self.areas]

    def of(self, block: MeasuredBlock) -> Area:
        """Area of all instances of a block in the hardware."""
        return self.areas[block.name] * block.count(self.parameters)

    def whole(self) -> Area:
        """Area of all blocks except those counted apart."""
        return self._sum(b for b in self._disjoint() if not b.apart)

    def without_data(self) -> Area:
        """Area of the hardware without data, which tracks, triggers and addresses."""
        variants = {block.instead_of: block for block in self.blocks if block.instead_of}
        return self._sum(variants.get(b.name, b) for b in self._disjoint() if not b.apart)

    def apart(self) -> dict[str, Area]:
        """Areas of the blocks counted apart, by block with all its variants."""
        areas: dict[str, Area] = {}
        for block in self._disjoint():
            if block.apart:
                areas[block.block] = areas.get(block.block, NOTHING) + self.of(block)
        return areas

    def tracker(self) -> Area:
        return self._sum(b for b in self._disjoint() if b.tracks)

    def _disjoint(self) -> list[MeasuredBlock]:
        return [block for block in self.blocks if not block.inside and not block.instead_of]

    def _sum(self, blocks) -> Area:
        return sum((self.of(block) for block in blocks), NOTHING)


def area_jobs(p: T3Parameters) -> list[Job]:
    """List the jobs that measure area; hardware without data has no blocks counted apart."""
    return [
        Job(block, p) for block in MEASURED if block.in_area and (p.with_data or not block.apart)
    ]


def measure_inventory(p: T3Parameters, liberty: Sequence[Path], report: Report) -> Inventory:
    """Synthesize every block and measure its area."""
    jobs = area_jobs(p)
    areas = measure(measure_area, jobs, liberty, report)
    return Inventory(p, {job.block.name: each for job, each in zip(jobs, areas, strict=True)})
