"""Asynchronous tensor parallelism: GEMMs in pieces, and copy engines that move their chunks."""

from typing import TYPE_CHECKING

from sysmodel.runs.chunked_times import cut_behind, scattered
from sysmodel.runs.copied_counts import Chunks, copied_counts, gathered_chunks, scattered_chunks
from sysmodel.runs.copies import Copies
from sysmodel.runs.cycle_result import CycleResult, GemmCycles
from sysmodel.runs.program.activities import Collective
from sysmodel.runs.program.program import Chain

if TYPE_CHECKING:
    from sysmodel.runs.plan import Plan

__all__ = ["addition_ns", "chunked"]

_BY_COPIES, _BY_LIBRARY = "by copy engines", "by the library"


def chunked(plan: "Plan", sequential: CycleResult, pieces: CycleResult) -> CycleResult:
    """Compose the chains of a program from simulated pieces, copies and additions.

    A GEMM that is reduced is cut into a piece for each owner of a chunk, its own last; see
    :mod:`sysmodel.runs.chunked_times`. A GEMM that needs the gathered output is cut into a piece
    for each chunk, and computes each when that has arrived. Without such a GEMM, copy engines or
    the library gather, whichever is the faster. GEMMs that do neither run as in ``sequential``.
    """
    return _Composition(plan, sequential, pieces).result()


def addition_ns(plan: "Plan", chunk_bytes: float) -> float:
    """Time of the kernel that adds a chunk's pieces of all GPUs: its launch, and a stream of them
    and of the sum at the memory's rate.

    A tuned kernel reaches 82 to 88 % of the data sheet's rate (pytorch/pytorch#191803), about
    ``dram.data_share``.
    """
    system = plan.system
    moved = (plan.workload.tp + 1) * chunk_bytes
    rate = system.dram_bytes_per_ns * system.dram.data_share
    return system.gpu.kernel_launch_ns + moved / rate


class _Composition:
    """Chains of a program, one after the other."""

    def __init__(self, plan: "Plan", sequential: CycleResult, pieces: CycleResult):
        self._plan, self._sequential, self._pieces = plan, sequential, pieces
        self._gpus, self._cycle_ns = plan.workload.tp, plan.system.cycle_ns
        self._copies = self._new_copies()
        self._now_ns = 0.0
        self._arrivals_ns: list[float] = []  # of chunks that the next GEMM awaits
        self._ns: dict[str, float] = {}
        self._counts = sequential.counts.copy()
        self._gemms = dict(sequential.gemms)
        self._chosen: dict[str, str] = {}

    def result(self) -> CycleResult:
        """Compose all chains."""
        program = self._plan.options.program
        chains = program.chains
        for chain, behind in zip(chains, (*chains[1:], None), strict=True):
            self._run_gemm(chain)
            if chain.gather is not None:
                awaited = behind is not None and program.gathered(behind.gemm) == chain.gather
                self._gather(chain, chain.gather, awaited=awaited)
        cycles = {name: round(ns / self._cycle_ns) for name, ns in self._ns.items()}
        return CycleResult(
            cycles=cycles,
            total_cycles=round(self._now_ns / self._cycle_ns),
            gemms=self._gemms,
            counts=self._counts,
            chosen=self._chosen,
        )

    def _run_gemm(self, chain: Chain) -> None:
        name, begin_ns, arrivals_ns = chain.gemm.name, self._now_ns, self._arrivals_ns
        self._arrivals_ns = []
        if chain.reduction is not None:
            self._reduce(chain, chain.reduction, arrivals_ns)
        elif arrivals_ns:
            self._now_ns = cut_behind(arrivals_ns, self._piece_ns(name))
            self._ns[name] = self._now_ns - begin_ns
        else:
            self._ns[name] = self._sequential.cycles[name] * self._cycle_ns
            self._now_ns += self._ns[name]
            return
        self._count_gemm(name)

    def _piece_ns(self, gemm: str) -> float:
        """Time from the start of a piece to the start of the next one, on average over all."""
        kernels_ns = self._pieces.cycles[gemm] * self._cycle_ns
        between_ns = (self._gpus - 1) * self._plan.system.chunked.piece_ns
        return (kernels_ns + between_ns) / self._gpus

    def _reduce(self, chain: Chain, reduction: Collective, arrivals_ns: list[float]) -> None:
        """Run a GEMM in pieces with the collective that reduces its output."""
        begin_ns, chunk_bytes = self._now_ns, self._chunk_bytes(chain)
        if not arrivals_ns:
            self._copies = self._new_copies()
        done = scattered(
            self._copies,
            self._gpus,
            begin_ns,
            piece_ns=self._piece_ns(chain.gemm.name),
            chunk_bytes=chunk_bytes,
            addition_ns=addition_ns(self._plan, chunk_bytes),
            arrivals_ns=arrivals_ns,
        )
        self._ns[chain.gemm.name] = done.gemm_ns - begin_ns
        self._now_ns = done.reduced_ns
        self._count(reduction, scattered_chunks(self._gpus), chunk_bytes)
        if reduction.operation == "all-reduce":
            self._now_ns = self._new_copies().gather(chunk_bytes, self._now_ns)[-1]
            self._count(reduction, gathered_chunks(self._gpus), chunk_bytes, also=True)
        # Its copies follow those of the all-gather before.
        self._ns[reduction.name] = self._now_ns - max(done.copied_ns, *arrivals_ns, begin_ns)

    def _gather(self, chain: Chain, gather: Collective, *, awaited: bool) -> None:
        """Gather the output: chunk by chunk if the next GEMM awaits it, otherwise by the faster of
        copy engines and library."""
        chunk_bytes = self._chunk_bytes(chain)
        self._copies = self._new_copies()
        arrivals_ns = self._copies.gather(chunk_bytes, self._now_ns)
        copied_ns = arrivals_ns[-1] - self._now_ns
        library_ns = self._sequential.cycles[gather.name] * self._cycle_ns
        by_copies = awaited or copied_ns <= library_ns
        self._chosen[gather.name] = _BY_COPIES if by_copies else _BY_LIBRARY
        self._ns[gather.name] = copied_ns if by_copies else library_ns
        if by_copies:
            self._count(gather, gathered_chunks(self._gpus), chunk_bytes)
        if awaited:
            self._arrivals_ns = arrivals_ns
        else:
            self._now_ns += self._ns[gather.name]

    def _new_copies(self) -> Copies:
        """Copy engines whose links are free."""
        return Copies(self._plan.system, self._plan.network.fabric)

    def _chunk_bytes(self, chain: Chain) -> int:
        """Bytes of the rows of the output that a GPU owns."""
        work = self._plan.options.program.workload_of(chain.gemm, self._plan.workload)
        return work.output_bytes // self._gpus

    def _count_gemm(self, name: str) -> None:
        """Take bytes and slots of the pieces; the factor by which they take longer than the GEMM is
        one of waiting, as nothing contends with them here."""
        number = self._plan.options.program.names.index(name)
        self._counts[number] = self._pieces.counts[number]
        slots = self._pieces.gemms[name].slots
        self._gemms[name] = GemmCycles(
            slots=slots, withheld_alone=round(self._ns[name] / self._cycle_ns)
        )

    def _count(
        self, collective: Collective, chunks: Chunks, chunk_bytes: int, *, also: bool = False
    ) -> None:
        """Count the bytes of a collective; ``also``, beside those of its other half."""
        number = self._plan.options.program.number(collective)
        base = self._sequential.counts[number]
        counted = copied_counts(self._plan.system, base, chunks, chunk_bytes)
        before = self._counts[number].copy()
        self._counts[number] = counted
        for name in (before.dtype.names or ()) if also else ():
            self._counts[name][number] += before[name]
