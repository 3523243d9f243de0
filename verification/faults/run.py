"""Fault injection campaigns: many faults of many kinds, on all processors."""

import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sysmodel.lib.errors import SimulationError
from sysmodel.lib.jobs import run_jobs
from sysmodel.lib.progress import Report, no_progress

from .bench import Bench
from .hook import Hooked, build_hooked
from .link import build_endpoint
from .memories import Memory
from .outcome import Kind, Result
from .registry import KINDS, contexts_needed, needs_endpoint
from .ring import ring_parameters

__all__ = ["Campaign", "Tally", "inject_all", "shares"]

_TASK_FAULTS = 50  # a few seconds
_MOST_CHOICES = 200
_MOST_FAILURES = 5


@dataclass
class Tally:
    """Counts of the outcomes of one kind of fault.

    Attributes
    ----------
    codes : Counter of str
        Codes of the errors that were reported, rightly or not.
    report_cycles, delay_cycles : int or None
        Longest time until the report, and longest delay.
    report_bound, delay_bound : int or None
        Bounds of these times.
    failures : list of (int, :class:`Result`)
        The first failures, with the numbers of their faults.
    """

    kind: Kind
    outcomes: Counter = field(default_factory=Counter)
    codes: Counter = field(default_factory=Counter)
    report_cycles: int | None = None
    delay_cycles: int | None = None
    report_bound: int | None = None
    delay_bound: int | None = None
    failures: list[tuple[int, Result]] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return self.outcomes.total()

    @property
    def failed(self) -> int:
        """Number of faults whose outcome is a failure."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.fails)

    def add(self, number: int, result: Result) -> None:
        """Count the outcome of a fault."""
        self.outcomes[result.outcome] += 1
        if result.code is not None:
            self.codes[result.code] += 1
        for name in ("report_cycles", "delay_cycles"):
            cycles = getattr(result, name)
            if cycles is not None:
                setattr(self, name, max(cycles, getattr(self, name) or 0))
        if result.outcome.fails:
            self.failures = sorted([*self.failures, (number, result)], key=lambda one: one[0])
            del self.failures[_MOST_FAILURES:]


@dataclass(frozen=True)
class Campaign:
    """Result of a campaign.

    Attributes
    ----------
    tallies : list of :class:`Tally`
        One tally for each kind.
    memories : list of :class:`Memory`
        Memories of the GPUs' hardware; empty if only links had faults.
    """

    seed: int
    tallies: list[Tally]
    memories: list[Memory]

    @property
    def faults(self) -> int:
        return sum(tally.faults for tally in self.tallies)

    @property
    def failures(self) -> int:
        """Number of faults whose outcome is a failure."""
        return sum(tally.failed for tally in self.tallies)


def shares(kinds: Sequence[Kind], faults: int) -> list[int]:
    """Number of faults of each kind: at least one each, and at least ``faults`` in all."""
    total = sum(kind.share for kind in kinds)
    return [max(1, -(-faults * kind.share // total)) for kind in kinds]


def _inject(bench: Bench, kind: Kind, number: int, seed: int) -> Result:
    """Inject the fault of a number; the result does not depend on earlier faults."""
    rng = np.random.default_rng([seed, *kind.name.encode(), number])
    for _ in range(_MOST_CHOICES):
        result = kind.inject(bench, rng)
        if result is not None:
            return result
    raise SimulationError(
        f"{kind.name}: no fault had a target in {_MOST_CHOICES} attempts, seed {seed}"
    )


_bench: Bench | None = None  # the bench of a worker process


def _inject_some(
    hooked: dict[int, Hooked], endpoint: Path | None, kind: str, numbers: range, seed: int
) -> list[Result]:
    """Inject faults in a worker process."""
    global _bench
    if _bench is None:
        _bench = Bench(hooked, endpoint)
    (one,) = (one for one in KINDS if one.name == kind)
    return [_inject(_bench, one, number, seed) for number in numbers]


def inject_all(
    kinds: Sequence[Kind],
    faults: int,
    seed: int,
    *,
    workers: int | None = None,
    progress: Report = no_progress,
) -> Campaign:
    """Inject faults of these kinds, one in each run.

    Parameters
    ----------
    faults : int
        Least number of faults in all.
    seed : int
        The result depends on the seed, on the kind and on the fault's number only.
    workers : int or None
        Number of processes: one for each processor if None, only this process if 1.

    Raises
    ------
    NoCompilerError
        There is no C++ compiler.
    SimulationError
        The hardware fails without a fault.
    """
    hooked = {
        contexts: build_hooked(ring_parameters(contexts), progress)
        for contexts in contexts_needed(kinds)
    }
    endpoint = build_endpoint(progress) if needs_endpoint(kinds) else None
    counts = shares(kinds, faults)
    tasks = [
        (kind.name, range(first, min(first + _TASK_FAULTS, count)))
        for kind, count in zip(kinds, counts, strict=True)
        for first in range(0, count, _TASK_FAULTS)
    ]
    tallies = {kind.name: Tally(kind) for kind in kinds}
    with Bench(hooked, endpoint) as bench:
        for tally in tallies.values():
            if tally.kind.report_bound:
                tally.report_bound = tally.kind.report_bound(bench)
            if tally.kind.delay_bound:
                tally.delay_bound = tally.kind.delay_bound(bench)
        workers = min(workers or len(os.sched_getaffinity(0)), len(tasks))
        injected = 0

        def count(name: str, numbers: range, results: Sequence[Result]) -> None:
            nonlocal injected
            for number, result in zip(numbers, results, strict=True):
                tallies[name].add(number, result)
            injected += len(numbers)
            progress("Injecting", injected / sum(counts))

        if workers == 1:
            named = {kind.name: kind for kind in kinds}
            for name, numbers in tasks:
                for number in numbers:
                    result = _inject(bench, named[name], number, seed)
                    count(name, range(number, number + 1), [result])
        else:

            def done(index: int, future: "Future[list[Result]]") -> None:
                count(*tasks[index], future.result())

            jobs = [(hooked, endpoint, *task, seed) for task in tasks]
            run_jobs(_inject_some, jobs, done=done, workers=workers)
    memories = hooked[min(hooked)].memories if hooked else []
    return Campaign(seed, list(tallies.values()), memories)
