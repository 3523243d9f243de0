"""Verdicts on runs of the ring."""

from collections.abc import Callable
from dataclasses import replace

from rtl.interface.encodings import ErrorCode
from rtl.interface.timebase import TICK_CYCLES

from .bench import Bench
from .outcome import Result, Verdict
from .ring import Ring, RingRun, Setup

__all__ = ["TileCheck", "judge", "judge_all", "report_bound", "run_bound"]

# Allowance for a report's way through the hardware, and for refreshes and row conflicts that
# differ because the order of accesses differs.
_SLACK_CYCLES = 256
# A timeout is counted in ticks, so it may come later by this time.
_LATER_CYCLES = 2 * TICK_CYCLES

TileCheck = Callable[[int, int], bool]
"""Predicate: may this GPU report this dispatch index?"""


def report_bound(setup: Setup) -> Callable[[Bench], int]:
    """Upper bound on the cycles from a fault to its report.

    All tiles before the incomplete tile are complete after the time of a fault-free run. From then
    on the oldest dispatch index of the credit window no longer advances, and the timeout reports
    it.
    """
    return lambda bench: _bound(bench.ring(setup))


def _bound(ring: Ring) -> int:
    timeout_cycles = ring.setup.timeout_cycles + _LATER_CYCLES
    return ring.fault_free.cycles + timeout_cycles + _SLACK_CYCLES


def run_bound(ring: Ring) -> int:
    """Number of cycles after which a run with a fault counts as a hang."""
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
    """Judge a context's run with a fault in cycle ``begin``.

    Parameters
    ----------
    codes : tuple of :class:`ErrorCode`
        Error codes that may be reported.
    tile : callable or None
        Check of the reported tile; None allows every dispatch index of the launch.
    at_end : bool
        A `TIMEOUT` may also come after all tiles are complete.
    """
    if run.reports:
        gpu, (number, dispatch_index, wavefront, cycle) = min(
            run.reports.items(), key=lambda item: item[1][-1]
        )
        code = ErrorCode(number)
        workgroups = ring.kernels[context].workgroups
        if code is ErrorCode.TIMEOUT and dispatch_index == workgroups:
            known = at_end
        else:
            known = tile(gpu, dispatch_index) if tile else dispatch_index < workgroups
        outcome = Verdict.REPORTED if code in codes and known else Verdict.MISREPORTED
        late = cycle - begin > _bound(ring)
        return Result(
            Verdict.HANG if late else outcome,
            injected,
            code.name,
            report_cycles=cycle - begin,
            detail=f"GPU {gpu}, dispatch index {dispatch_index}, wavefront {wavefront}, "
            f"cycle {cycle}",
        )
    if not run.finished:
        return Result(Verdict.HANG, injected, detail=f"neither done nor reported in {run.cycles}")
    if not run.right:
        return Result(Verdict.SILENT, injected, detail="a wrong sum")
    return Result(Verdict.CORRECTED if run.corrected else Verdict.HARMLESS, injected)


def judge_all(
    ring: Ring,
    runs: list[RingRun],
    concerned: set[int],
    *,
    injected: str,
    begin: int,
    codes: tuple[ErrorCode, ...],
    tile: Callable[[int], TileCheck] | None = None,
) -> Result:
    """Judge a run of several contexts: all sums are right, or an affected context reports an error.

    Parameters
    ----------
    tile : callable or None
        Makes the tile check of a context for reports with the first of the codes.
    """
    results = []
    for context, run in enumerate(runs):
        allowed = codes if context in concerned else ()
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
    reported = [one for one in results if one.outcome is Verdict.REPORTED]
    if len(reported) == len(runs):
        return replace(reported[0], outcome=Verdict.MISREPORTED, detail="both contexts lost")
    return (reported or results)[0]


def _first_of(run: RingRun) -> ErrorCode | None:
    reports = sorted(run.reports.values(), key=lambda report: report[-1])
    return ErrorCode(reports[0][0]) if reports else None
