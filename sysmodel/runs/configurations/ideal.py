"""Perfect overlap: activities at the same time do not slow each other."""

from sysmodel.runs.cycle_result import CycleResult, GemmCycles
from sysmodel.runs.program.activities import Collective
from sysmodel.runs.program.program import Program

__all__ = ["ideal"]


def ideal(program: Program, sequential: CycleResult, collectives: CycleResult) -> CycleResult:
    """Each activity as fast as alone, and begun as early as possible.

    GEMMs follow each other on the CUs, and collectives on the links, in the program's order. A
    collective of a GEMM runs beside it and ends after it; any other activity begins when the
    activities that it needs have ended.

    Parameters
    ----------
    collectives : CycleResult
        Times and counts of the collectives that it contains, which replace those of
        ``sequential``.
    """
    counts, cycles = sequential.counts.copy(), dict(sequential.cycles)
    for one in program.collectives:
        if one.name in collectives.cycles:
            cycles[one.name] = collectives.cycles[one.name]
            counts[program.number(one)] = collectives.counts[program.number(one)]
    return CycleResult(
        cycles=cycles,
        total_cycles=_total(program, cycles),
        gemms={name: GemmCycles(slots=one.slots) for name, one in sequential.gemms.items()},
        counts=counts,
    )


def _total(program: Program, cycles: dict[str, int]) -> int:
    start: dict[str, int] = {}
    end: dict[str, int] = {}
    free = {True: 0, False: 0}  # by kind: collectives, GEMMs
    for one in program.in_order:
        communicates = isinstance(one, Collective)
        beside = one.of if isinstance(one, Collective) and one.of in _gemms(program) else None
        awaited = [end[name] for name in one.awaited if name != beside]
        begins = max([free[communicates], *awaited, start[beside] if beside else 0])
        start[one.name] = begins
        end[one.name] = max(begins + cycles[one.name], end[beside] if beside else 0)
        free[communicates] = end[one.name]
    return max(end.values())


def _gemms(program: Program) -> tuple[str, ...]:
    return tuple(one.name for one in program.gemms)
