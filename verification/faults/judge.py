"""Verdicts on runs of the ring."""

from collections.abc import Callable
from dataclasses import replace

from rtl.interface.encodings import ErrorCode
from rtl.interface.timebase import TICK_CYCLES

from .bench import Bench
from .outcome import Outcome, Result
from .ring import Ring, RingRun, Setup

__all__ = ["TileCheck", "judge", "judge_all", "report_bound", "run_bound"]

# A report's way through the hardware, and refresh and row conflicts that another order brings.
_SLACK_CYCLES = 256
# A timeout is counted in ticks.
_LATER_CYCLES = 2 * TICK_CYCLES

_OF_PACKETS = (
    ErrorCode.PACKET_UNMAPPED,
    ErrorCode.PACKET_MISMATCH,
    ErrorCode.PACKET_LATE,
    ErrorCode.PACKET_AHEAD,
)
"""Their reports hold a workgroup, not a dispatch index."""

TileCheck = Callable[[int, int], bool]
"""Whether a GPU may report that dispatch index."""


def report_bound(setup: Setup) -> Callable[[Bench], int]:
    """Most cycles from a fault to its report.

    What lies before the tile that cannot complete is complete within a fault-free run; then the
    credit window's oldest dispatch index stands still, and after the timeout it is reported.
    """
    return lambda bench: _bound(bench.ring(setup))


def _bound(ring: Ring) -> int:
    timeout_cycles = ring.setup.timeout_cycles + _LATER_CYCLES
    return ring.fault_free.cycles + timeout_cycles + _SLACK_CYCLES


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
    context: int = 0,
) -> Result:
    """The outcome of a context's run with a fault in cycle ``begin``.

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
            dispatch_index = ring.dispatch_index_of(gpu, dispatch_index, context)
        workgroups = ring.kernels[context].workgroups
        if code is ErrorCode.TIMEOUT and dispatch_index == workgroups:
            known = at_end
        else:
            known = tile(gpu, dispatch_index) if tile else dispatch_index < workgroups
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


def judge_all(
    ring: Ring,
    runs: list[RingRun],
    concerned: set[int],
    *,
    injected: str,
    begin: int,
    codes: tuple[ErrorCode, ...],
    also_told: tuple[ErrorCode, ...] = (),
    tile: Callable[[int], TileCheck] | None = None,
) -> Result:
    """The outcome of a run: each context's sum is right, or of one alone, which the fault concerns
    and which reports it.

    Parameters
    ----------
    also_told : tuple of :class:`ErrorCode`
        What a context whose sum is right may report.
    tile : callable or None
        Gives for a context which tiles it may report with the first of the codes.
    """
    results = []
    for context, run in enumerate(runs):
        allowed = codes if context in concerned else ()
        if run.right and _all_of(run, also_told):
            run = replace(run, reports={})
        results.append(
            judge(
                ring,
                run,
                injected=injected,
                begin=begin,
                codes=allowed,
                tile=tile(context) if tile and _first_of(run) in codes[:1] else None,
                at_end=True,
                context=context,
            )
        )
    for result in results:
        if result.outcome.fails:
            return result
    reported = [one for one in results if one.outcome is Outcome.REPORTED]
    if len(reported) == len(runs):
        return replace(reported[0], outcome=Outcome.MISREPORTED, detail="both contexts lost")
    return (reported or results)[0]


def _first_of(run: RingRun) -> ErrorCode | None:
    reports = sorted(run.reports.values(), key=lambda report: report[-1])
    return ErrorCode(reports[0][0]) if reports else None


def _all_of(run: RingRun, codes: tuple[ErrorCode, ...]) -> bool:
    return all(ErrorCode(number) in codes for number, *_ in run.reports.values())
