"""All-gathers of a fused GEMM's sums: under the GEMM that needs them, or by the faster means."""

from typing import TYPE_CHECKING

from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.kernel import Kernel
from sysmodel.runs.chunked_times import whole_behind
from sysmodel.runs.copied_counts import copied_counts, gathered_chunks
from sysmodel.runs.copies import Copies
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.program.activities import Collective
from sysmodel.runs.program.program import Chain

if TYPE_CHECKING:
    from sysmodel.runs.plan import Plan

__all__ = ["fused"]


def fused(plan: "Plan", sums: CycleResult) -> CycleResult:
    """Choose for each all-gather behind a fused GEMM how it is done.

    Where the next GEMM needs the output, its tiles wait for the flags of their chunks, which copy
    engines send, the own chunk first; see :func:`~sysmodel.runs.chunked_times.whole_behind`. Copies
    and GEMM do not slow each other here, which favours the software. Otherwise copy engines gather
    if they are faster than the library.

    Parameters
    ----------
    sums : CycleResult
        Result with all-gathers by the library, before the next GEMM.
    """
    return _Gathers(plan, sums).result()


class _Gathers:
    def __init__(self, plan: "Plan", sums: CycleResult):
        self._plan, self._sums, self._ns = plan, sums, plan.system.cycle_ns
        self._cycles, self._counts = dict(sums.cycles), sums.counts.copy()
        self._saved_ns = 0.0
        self._chosen: dict[str, str] = dict(sums.chosen)

    def result(self) -> CycleResult:
        parts = self._plan.parts
        followers = (*(one.chain for one in parts[1:]), None)
        for part, behind in zip(parts, followers, strict=True):
            if part.chain.gather is not None:
                self._gather(part.kernel, part.chain.gather, behind)
        return CycleResult(
            cycles=self._cycles,
            total_cycles=self._sums.total_cycles - round(self._saved_ns / self._ns),
            gemms=self._sums.gemms,
            stall_cycles=self._sums.stall_cycles,
            counts=self._counts,
            chosen=self._chosen,
            timeline=self._sums.timeline,
        )

    def _gather(self, kernel: Kernel, gather: Collective, behind: Chain | None) -> None:
        program, fused = self._plan.options.program, self._plan.system.fused
        number, gpus = program.number(gather), self._plan.workload.tp
        # The library may let switches copy the chunks, copy engines do not.
        chunk_bytes = int(kernel.chunk_atoms.sum()) * ATOM_BYTES / gpus
        copies = Copies(self._plan.system, self._plan.network.fabric)
        arrivals_ns = copies.gather(chunk_bytes, 0.0)
        copied_ns, library_ns = arrivals_ns[-1], self._cycles[gather.name] * self._ns
        awaited = behind is not None and program.gathered(behind.gemm) == gather
        if awaited and behind is not None:
            gemm_ns = self._cycles[behind.gemm.name] * self._ns
            together_ns = whole_behind(arrivals_ns, gemm_ns, fused.flag_ns) + fused.gather_ns
            saved_ns = library_ns + gemm_ns - together_ns
        else:
            saved_ns = library_ns - copied_ns
        if saved_ns <= 0:
            self._chosen[gather.name] = "by the library"
            return
        self._saved_ns += saved_ns
        self._cycles[gather.name] = round(copied_ns / self._ns)
        if awaited and behind is not None:
            self._cycles[behind.gemm.name] = round(together_ns / self._ns)
        self._chosen[gather.name] = "by copy engines" + " under the next GEMM" * awaited
        self._counts[number] = copied_counts(
            self._plan.system, self._sums.counts[number], gathered_chunks(gpus), chunk_bytes
        )
