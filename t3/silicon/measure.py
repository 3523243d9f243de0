"""Synthesis and measurement of blocks in parallel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rtl.parameters import T3Parameters
from sysmodel.lib.jobs import map_jobs
from sysmodel.lib.progress import Report

from .area import Area, area
from .blocks import MEASURED, MeasuredBlock
from .cells import Library
from .elaboration import TOP
from .library import load_library
from .netlist import Netlist, read_netlist
from .sta import Path as TimingPath
from .sta import worst_paths
from .synthesis import synthesize

__all__ = ["Job", "measure", "measure_area", "measure_paths"]


@dataclass(frozen=True)
class Job:
    """Block to measure, with its parameters."""

    block: MeasuredBlock
    parameters: T3Parameters


def measure_area(block: str, p: T3Parameters, liberty: Sequence[Path]) -> Area:
    """Measure the area of a block."""
    return area(*_netlist(block, p, tuple(liberty)))


def measure_paths(
    block: str, p: T3Parameters, liberty: Sequence[Path], count: int | None = None
) -> list[TimingPath]:
    """Find the longest paths of a block with :func:`~.sta.worst_paths`."""
    netlist, library = _netlist(block, p, tuple(liberty))
    return worst_paths(netlist, library, count=count)


def measure(
    function: Callable[..., Any],
    jobs: Sequence[Job],
    liberty: Sequence[Path],
    report: Report,
) -> list[Any]:
    """Apply one of this module's functions to every job, in worker processes.

    Returns
    -------
    list
        Results in the order of the jobs.
    """
    # The longest jobs begin first.
    order = sorted(range(len(jobs)), key=lambda index: jobs[index].block.in_area)
    tasks = [(jobs[index].block.name, jobs[index].parameters, liberty) for index in order]
    found = map_jobs(function, tasks, lambda share: report("synthesis", share))
    results = dict(zip(order, found, strict=True))
    return [results[index] for index in range(len(jobs))]


@lru_cache(maxsize=1)
def _library(liberty: tuple[Path, ...]) -> Library:
    return load_library(liberty)


def _netlist(name: str, p: T3Parameters, liberty: tuple[Path, ...]) -> tuple[Netlist, Library]:
    block = next(block for block in MEASURED if block.name == name)
    library = _library(liberty)
    module = synthesize(block.rtlil(p), TOP, library, liberty)
    return read_netlist(module, library), library
