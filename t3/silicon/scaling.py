"""Growth of the area with the hardware's parameters."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rtl.parameters import T3Parameters
from sysmodel.lib.progress import Report

from .area import Area
from .blocks import MEASURED
from .inventory import Inventory, area_jobs
from .measure import Job, measure, measure_area

__all__ = ["AXES", "Axis", "Point", "as_csv", "measure_scaling"]


@dataclass(frozen=True)
class Axis:
    """Parameter that varies while the others are constant.

    Parameters
    ----------
    field : str
        Field of :class:`~rtl.parameters.T3Parameters`.
    values : tuple of int
        Values of the field.
    of : str
        Measured block or sum.
    per_value : int
        Increase of the field for one unit of the axis.
    """

    name: str
    field: str
    values: tuple[int, ...]
    of: str
    per_value: int = 1


AXES = (
    Axis("channels", "channels", (1, 8, 32), "whole, without NMC"),
    Axis("sets", "sets", (256, 1024), "tracker"),
    Axis("ways", "ways", (4, 8, 16), "tracker"),
    Axis("banks", "banks", (1, 4, 16), "tracker"),
    Axis("16-bit lanes", "atom_bytes", (8, 16, 32), "nmc_unit", 2),
)


@dataclass(frozen=True)
class Point:
    """Area at one value of an axis."""

    axis: Axis
    value: int
    area: Area


def measure_scaling(p: T3Parameters, liberty: Sequence[Path], report: Report) -> list[Point]:
    """Measure the area at each value of each axis, with the other parameters of ``p``."""
    points = [(axis, value) for axis in AXES for value in axis.values]
    jobs = [(point, job) for point in points for job in _jobs(point[0], point[1], p)]
    areas = measure(measure_area, [job for _, job in jobs], liberty, report)
    measured = []
    for axis, value in points:
        blocks = {
            job.block.name: (job.parameters, area)
            for (point, job), area in zip(jobs, areas, strict=True)
            if point == (axis, value)
        }
        parameters = next(iter(blocks.values()))[0]
        inventory = Inventory(parameters, {name: area for name, (_, area) in blocks.items()})
        measured.append(Point(axis, value // axis.per_value, _area(axis, inventory)))
    return measured


def _jobs(axis: Axis, value: int, p: T3Parameters) -> list[Job]:
    changed = replace(p, **{axis.field: value})
    if axis.of == "nmc_unit":
        return [Job(block, changed) for block in MEASURED if block.name == axis.of]
    if axis.of == "tracker":
        return [job for job in area_jobs(changed) if job.block.tracks]
    return [job for job in area_jobs(changed) if not _is_extra(job)]


def _is_extra(job: Job) -> bool:
    return bool(job.block.inside or job.block.instead_of or job.block.apart)


def _area(axis: Axis, inventory: Inventory) -> Area:
    if axis.of == "nmc_unit":
        return inventory.areas[axis.of]
    return inventory.tracker() if axis.of == "tracker" else inventory.whole()


def as_csv(points: Sequence[Point]) -> str:
    """Write a CSV table with a row for each point."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = ("axis", "value", "of", "flip_flops", "ge", "sram_macros", "sram_bits")
    writer.writerow(header)
    for point in points:
        area = point.area
        numbers = (area.flip_flops, f"{area.ge:.1f}", area.macros, area.bits)
        writer.writerow((point.axis.name, point.value, point.axis.of, *numbers))
    return out.getvalue()
