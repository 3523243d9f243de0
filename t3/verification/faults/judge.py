"""Verdicts on runs of the ring."""

from collections.abc import Callable

from rtl.interface.encodings import ErrorCode

from .bench import Bench
from .outcome import Outcome, Result
from .ring import Ring, RingRun, Setup

__all__ = ["judge", "report_bound", "run_bound"]

# A report's way through the hardware, and refresh and row conflicts that another order brings.
_SLACK_CYCLES = 256

_OF_PACKETS = (
    ErrorCode.PACKET_UNMAPPED,
    ErrorCode.PACKET_MISMATCH,
    ErrorCode.PACKET_LATE,
    ErrorCode.PACKET_AHEAD,
)
"""Their reports hold a workgroup, not a dispatch index."""

TileCheck = Callable[[int, int], bool]


def report_bound(setup: Setup) -> Callable[[Bench], int]:
    """Most cycles from a fault to its report.

    What lies before the tile that cannot complete is complete within a fault-free run; then the
    credit window's oldest dispatch index stands still, and after the timeout it is reported.
    """
    return lambda bench: _bound(bench.ring(setup))


def _bound(ring: Ring) -> int:
    return ring.fault_free.cycles + ring.setup.timeout_cycles + _SLACK_CYCLES


def run_bound(ring: Ring) -> int:
    """Cycles after which a run with a fault at any time hangs."""
    return ring.fault_free.cycles + 2 * _bound(ring)


def judge(
    ring: Ring,
    run: RingRun,
    *,
    injected: str,
    begin: int,
    codes: tuple[ErrorCode, ...],
    tile: TileCheck | None = None,
    at_end: bool = False,
) -> Result:
    """The outcome of a run with a fault in cycle ``begin``.

    Parameters
    ----------
    codes : tuple of :class:`ErrorCode`
        Causes that may be reported.
    tile : callable or None
        Whether a GPU may report that dispatch index; any dispatch index that there is if None.
    at_end : bool
        A `TIMEOUT` may be for what is left when all tiles are complete.
    """
    if run.reports:
        gpu, (number, dispatch_index, wavefront, cycle) = min(
            run.reports.items(), key=lambda item: item[1][-1]
        )
        code = ErrorCode(number)
        if code in _OF_PACKETS:
            dispatch_index = ring.dispatch_index_of(gpu, dispatch_index)
        if code is ErrorCode.TIMEOUT and dispatch_index == ring.kernel.workgroups:
            known = at_end
        else:
            known = tile(gpu, dispatch_index) if tile else dispatch_index < ring.kernel.workgroups
        outcome = Outcome.REPORTED if code in codes and known else Outcome.MISREPORTED
        late = cycle - begin > _bound(ring)
        return Result(
            Outcome.HANG if late else outcome,
            injected,
            code.name,
            report_cycles=cycle - begin,
            detail=f"GPU {gpu}, workgroup {dispatch_index}, wavefront {wavefront}, cycle {cycle}",
        )
    if not run.finished:
        return Result(Outcome.HANG, injected, detail=f"neither done nor reported in {run.cycles}")
    if not run.right:
        return Result(Outcome.SILENT, injected, detail="a wrong sum")
    return Result(Outcome.CORRECTED if run.corrected else Outcome.HARMLESS, injected)
