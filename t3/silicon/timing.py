"""Critical paths of all blocks."""

from collections.abc import Sequence
from pathlib import Path

from rtl.parameters import T3Parameters
from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import Report

from .blocks import MEASURED
from .measure import Job, measure, measure_paths
from .sta import Path as TimingPath
from .timing_report import BlockTiming

__all__ = ["block_paths", "measure_timing"]


def measure_timing(p: T3Parameters, liberty: Sequence[Path], report: Report) -> list[BlockTiming]:
    """Find the longest path of each kind in every block."""
    jobs = [Job(block, p) for block in MEASURED if block.in_timing]
    results = measure(measure_paths, jobs, liberty, report)
    return [BlockTiming(job.block, paths) for job, paths in zip(jobs, results, strict=True)]


def block_paths(
    name: str, p: T3Parameters, liberty: Sequence[Path], count: int
) -> list[TimingPath]:
    """Find the longest paths of one block.

    Raises
    ------
    InputError
        No block has that name.
    """
    known = [block.name for block in MEASURED]
    if name not in known:
        raise InputError("block", f"{name!r} is not known; allowed: {', '.join(known)}")
    return measure_paths(name, p, liberty, count)
