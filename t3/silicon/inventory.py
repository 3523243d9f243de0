"""The area of all blocks, and their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtl.parameters import T3Parameters
from sysmodel.lib.progress import Report

from .area import NOTHING, Area
from .blocks import MEASURED, Measured
from .measure import Job, measure, measure_area

__all__ = ["Inventory", "area_jobs", "measure_inventory"]


@dataclass(frozen=True)
class Inventory:
    """Blocks and their areas.

    Parameters
    ----------
    parameters : T3Parameters
    areas : mapping of str to Area
        Of one of each block.
    """

    parameters: T3Parameters
    areas: Mapping[str, Area]

    @property
    def blocks(self) -> list[Measured]:
        return [block for block in MEASURED if block.name in self.areas]

    def of(self, block: Measured) -> Area:
        """Of all of this block that the hardware has."""
        return self.areas[block.name] * block.count(self.parameters)

    def whole(self) -> Area:
        """Everything but what is counted apart."""
        return self._sum(b for b in self._disjoint() if not b.apart)

    def without_data(self) -> Area:
        """The whole with no data in it: what tracks, triggers and addresses."""
        variants = {block.instead_of: block for block in self.blocks if block.instead_of}
        return self._sum(variants.get(b.name, b) for b in self._disjoint() if not b.apart)

    def apart(self) -> dict[str, Area]:
        """What is counted apart, by block with all its variants."""
        found: dict[str, Area] = {}
        for block in self._disjoint():
            if block.apart:
                found[block.block] = found.get(block.block, NOTHING) + self.of(block)
        return found

    def tracker(self) -> Area:
        return self._sum(b for b in self._disjoint() if b.tracks)

    def _disjoint(self) -> list[Measured]:
        return [block for block in self.blocks if not block.inside and not block.instead_of]

    def _sum(self, blocks) -> Area:
        return sum((self.of(block) for block in blocks), NOTHING)


def area_jobs(p: T3Parameters) -> list[Job]:
    """All blocks that have an area of their own."""
    return [
        Job(block, p) for block in MEASURED if block.in_area and (p.with_data or not block.apart)
    ]


def measure_inventory(p: T3Parameters, liberty: Sequence[Path], report: Report) -> Inventory:
    """Synthesise every block and add it up."""
    jobs = area_jobs(p)
    areas = measure(measure_area, jobs, liberty, report)
    return Inventory(p, {job.block.name: each for job, each in zip(jobs, areas, strict=True)})
