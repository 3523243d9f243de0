"""Runner of complete comparisons on all processors."""

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

__all__ = ["ComparisonResult", "run"]

_TASK_PAIRS = 1 << 21  # some tenths of a second

Task = Callable[[NativeUnit], Comparison]


@dataclass(frozen=True)
class ComparisonResult:
    """Result of the comparison of one operation on one format.

    Attributes
    ----------
    seconds, processor_seconds : float
        Elapsed time and processor time; other programs hardly change the processor time.
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
    """Run the tasks and add their comparisons up, in the order of the tasks."""
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

        # The unit releases Python's lock, so threads run in parallel.
        pool = ThreadPoolExecutor(workers)
        try:
            futures = [pool.submit(work, task) for task in tasks]
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                done(count / len(futures))
        finally:
            # The units are closed only after this, which an error or Ctrl-C reaches at once.
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
) -> ComparisonResult:
    """Compare all pairs of a 16-bit format, or at least ``pairs`` pairs of fp32.

    Parameters
    ----------
    library : Path
        Library of the unit; see ``build_unit``.
    pairs, seed : int
        Number of fp32 pairs, rounded up to whole batches, and the seed of their choice.
    """
    name = f"{datatype.name.lower()} {operation.name.lower()}"
    begin, begin_processor = time.perf_counter(), time.process_time()
    comparison = _all(
        library,
        _tasks(operation, datatype, pairs, seed),
        os.cpu_count() or 1,
        lambda share: progress(name, share),
    )
    return ComparisonResult(
        operation,
        datatype,
        comparison,
        seconds=time.perf_counter() - begin,
        processor_seconds=time.process_time() - begin_processor,
    )
