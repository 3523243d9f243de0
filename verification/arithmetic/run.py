"""Complete comparisons, on all processors."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from rtl.interface.encodings import Datatype, Operation
from sysmodel.lib.progress import Report, no_progress

from .compare import ROW_PAIRS, Comparison, compare_batches, compare_rows
from .pairs import BATCH_PAIRS
from .unit import NativeUnit

__all__ = ["Outcome", "run"]

_TASK_PAIRS = 1 << 21  # some tenths of a second

Task = Callable[[NativeUnit], Comparison]


@dataclass(frozen=True)
class Outcome:
    """A comparison of one operation on one format.

    Attributes
    ----------
    seconds, processor_seconds : float
        How long it took, and how long processors worked on it; the latter hardly depends on what
        else they do.
    """

    operation: Operation
    datatype: Datatype
    comparison: Comparison
    seconds: float
    processor_seconds: float


def _spans(total: int, size: int) -> Iterator[range]:
    for first in range(0, total, size):
        yield range(first, min(first + size, total))


def _tasks(op: Operation, dtype: Datatype, pairs: int, seed: int) -> Iterator[Task]:
    if dtype is Datatype.FP32:
        batches = -(-pairs // BATCH_PAIRS)
        for span in _spans(batches, _TASK_PAIRS // BATCH_PAIRS):
            yield partial(compare_batches, op=op, seed=seed, batches=span)
    else:
        for span in _spans(1 << 16, _TASK_PAIRS // ROW_PAIRS):
            yield partial(compare_rows, op=op, dtype=dtype, rows=span)


def _all(
    library: Path, tasks: Iterable[Task], workers: int, done: Callable[[float], None]
) -> Comparison:
    """Sum of the tasks' comparisons, in their order."""
    with ExitStack() as stack:
        units: SimpleQueue[NativeUnit] = SimpleQueue()
        for _ in range(workers):
            units.put(stack.enter_context(NativeUnit(library)))

        def work(task: Task) -> Comparison:
            unit = units.get()
            try:
                return task(unit)
            finally:
                units.put(unit)

        # The unit runs without Python's lock, so threads are enough.
        pool = ThreadPoolExecutor(workers)
        try:
            futures = [pool.submit(work, task) for task in tasks]
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                done(count / len(futures))
        finally:
            # Before the units are closed, and at once after an error or Ctrl-C.
            pool.shutdown(cancel_futures=True)
    return sum((future.result() for future in futures), Comparison())


def run(
    library: Path,
    operation: Operation,
    datatype: Datatype,
    *,
    pairs: int,
    seed: int,
    progress: Report = no_progress,
) -> Outcome:
    """Compare all pairs of a format of 16 bit, or at least ``pairs`` of fp32.

    Parameters
    ----------
    library : Path
        The unit; see ``build_unit``.
    operation : Operation
    datatype : Datatype
    pairs, seed : int
        Of fp32: how many, rounded up to whole batches, and what makes them random.
    progress : callable
    """
    name = f"{datatype.name.lower()} {operation.name.lower()}"
    begin, begin_processor = time.perf_counter(), time.process_time()
    comparison = _all(
        library,
        _tasks(operation, datatype, pairs, seed),
        os.cpu_count() or 1,
        lambda share: progress(name, share),
    )
    return Outcome(
        operation,
        datatype,
        comparison,
        seconds=time.perf_counter() - begin,
        processor_seconds=time.process_time() - begin_processor,
    )
