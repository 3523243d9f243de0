"""Campaigns: many faults of many kinds, on all processors."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field

import numpy as np

from sysmodel.lib.errors import SimulationError
from sysmodel.lib.progress import Report, no_progress
from sysmodel.lib.workers import worker_processes

from .bench import Bench
from .hook import build_hooked
from .link import build_endpoint
from .memories import Memory
from .outcome import Kind, Result
from .registry import KINDS, contexts_needed, needs_endpoint
from .ring import ring_parameters

__all__ = ["Campaign", "Tally", "inject_all", "shares"]

_TASK_FAULTS = 50  # a few seconds
_MOST_CHOICES = 200
_KEPT_FAILURES = 5


@dataclass
class Tally:
    """What became of the faults of one kind.

    Attributes
    ----------
    kind : :class:`Kind`
    outcomes : Counter of :class:`Outcome`
    codes : Counter of str
        Errors that were reported, rightly or not.
    report_cycles, delay_cycles : int or None
        The longest.
    report_bound, delay_bound : int or None
    failures : list of (int, :class:`Result`)
        The first outcomes that must not be, with the fault's number.
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
        """Faults that ended as none may."""
        return sum(count for outcome, count in self.outcomes.items() if outcome.fails)

    def add(self, number: int, result: Result) -> None:
        """Count a fault."""
        self.outcomes[result.outcome] += 1
        if result.code is not None:
            self.codes[result.code] += 1
        for name in ("report_cycles", "delay_cycles"):
            cycles = getattr(result, name)
            if cycles is not None:
                setattr(self, name, max(cycles, getattr(self, name) or 0))
        if result.outcome.fails:
            self.failures = sorted([*self.failures, (number, result)], key=lambda one: one[0])
            del self.failures[_KEPT_FAILURES:]


@dataclass(frozen=True)
class Campaign:
    """Faults and what became of them.

    Attributes
    ----------
    seed : int
    tallies : list of :class:`Tally`
        One for each kind.
    memories : list of :class:`Memory`
        Of the GPUs' hardware; none if only links had faults.
    """

    seed: int
    tallies: list[Tally]
    memories: list[Memory]

    @property
    def faults(self) -> int:
        return sum(tally.faults for tally in self.tallies)

    @property
    def failures(self) -> int:
        """Faults that ended as none may."""
        return sum(tally.failed for tally in self.tallies)


def shares(kinds: Sequence[Kind], faults: int) -> list[int]:
    """How many faults each kind gets, at least one; together at least ``faults``."""
    total = sum(kind.share for kind in kinds)
    return [max(1, -(-faults * kind.share // total)) for kind in kinds]


def _inject(bench: Bench, kind: Kind, number: int, seed: int) -> Result:
    """The fault of that number, whatever was injected before."""
    rng = np.random.default_rng([seed, *kind.name.encode(), number])
    for _ in range(_MOST_CHOICES):
        result = kind.inject(bench, rng)
        if result is not None:
            return result
    raise SimulationError(f"{kind.name}: {_MOST_CHOICES} choices hit nothing, seed {seed}")


_bench: Bench  # of a process of the pool, from its beginning on


def _begin(*arguments) -> None:
    global _bench
    _bench = Bench(*arguments)


def _inject_some(name: str, numbers: range, seed: int) -> list[Result]:
    kind = next(kind for kind in KINDS if kind.name == name)
    return [_inject(_bench, kind, number, seed) for number in numbers]


def _in_turn(bench: Bench, tasks: list[tuple[str, range]], seed: int):
    kinds = {kind.name: kind for kind in KINDS}
    for name, numbers in tasks:
        for number in numbers:
            yield name, number, _inject(bench, kinds[name], number, seed)


def _at_once(
    arguments: tuple, workers: int, tasks: list[tuple[str, range]], seed: int
) -> Iterator[tuple[str, int, Result]]:
    with worker_processes(workers, _begin, arguments) as pool:
        futures = {pool.submit(_inject_some, *task, seed): task for task in tasks}
        for future in as_completed(futures):
            name, numbers = futures[future]
            for number, result in zip(numbers, future.result(), strict=True):
                yield name, number, result


def inject_all(
    kinds: Sequence[Kind],
    faults: int,
    seed: int,
    *,
    workers: int | None = None,
    progress: Report = no_progress,
) -> Campaign:
    """Put faults of these kinds in, one in each run.

    Parameters
    ----------
    kinds : sequence of :class:`Kind`
    faults : int
        In all, at least.
    seed : int
        The outcome depends on it, on the kind and on the fault's number only.
    workers : int or None
        Processes; all that there are processors for if None, and this one if 1.
    progress : callable

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    SimulationError
        If the hardware fails without a fault.
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
        results = (
            _in_turn(bench, tasks, seed)
            if workers == 1
            else _at_once((hooked, endpoint), workers, tasks, seed)
        )
        for done, (name, number, result) in enumerate(results, 1):
            tallies[name].add(number, result)
            progress("Injecting", done / sum(counts))
    memories = hooked[min(hooked)].memories if hooked else []
    return Campaign(seed, list(tallies.values()), memories)
