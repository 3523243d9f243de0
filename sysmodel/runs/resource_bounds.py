"""Lower bounds of a program's time, by resource: matrix pipes, links and memory of a GPU.

Each resource is taken as busy all the time, with the least that the program needs of it. Activities
may overlap with any other, also with those of another batch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sysmodel.config.link import Link
from sysmodel.config.system import System
from sysmodel.config.workload import ELEMENT_BYTES, Workload
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.network.fabric import Fabric

from .program.activities import Collective, Gemm
from .program.program import Program

__all__ = ["ResourceBounds", "resource_bounds"]


@dataclass(frozen=True, kw_only=True)
class ResourceBounds:
    """Least times and bytes of a program on a GPU.

    Parameters
    ----------
    compute_ns, link_ns, memory_ns : float
        Least time in which the resource does all that the program needs.
    gemm_ns : mapping
        Least time of each GEMM on the matrix pipes alone.
    sent : mapping
        Bytes that the GPU sends in each collective, on average over the GPUs.
    read, written : mapping
        Bytes by activity that the memory cannot but read and write.
    """

    compute_ns: float
    link_ns: float
    memory_ns: float
    gemm_ns: Mapping[str, float]
    sent: Mapping[str, float]
    read: Mapping[str, int]
    written: Mapping[str, int]

    @property
    def total_ns(self) -> float:
        """Bound of the program's time."""
        return max(self.compute_ns, self.link_ns, self.memory_ns)


def resource_bounds(
    program: Program, workload: Workload, system: System, fabric: Fabric
) -> ResourceBounds:
    """Find the bounds of a program.

    - Compute: whole tiles on whole CUs at the pipes' peak, of the macro-tile that takes the least
      time; without launches, loads and stores. Tiles of different GEMMs may share a CU's time.
    - Link: the bytes that must enter or leave a GPU, whichever are more, over all its links, in the
      packets with the most payload of any engine. Switches that reduce and multicast spare bytes.
    - Memory: the operands once, and what a GPU keeps, at the data sheet's rate. Reads of a gathered
      output are left out, and parts of sums that arrive, since a cache may hold them, and so are as
      many bytes as the last-level cache has, unless it is flushed.
    """
    works = {one.name: program.workload_of(one, workload) for one in program.gemms}
    compute = {name: list(_pipes_ns(system, work)) for name, work in works.items()}
    moved = [_link_bytes(program, one, works, fabric) for one in program.collectives]
    names = [one.name for one in program.collectives]
    rate = min(_ports(system, fabric))
    read, written = _memory_bytes(program, works)
    kept = 0 if system.l2.flush_at_kernel_end else system.l2.capacity_mib * 2**20
    memory = max(0.0, sum(read.values()) + sum(written.values()) - kept)
    return ResourceBounds(
        compute_ns=max(
            *(min(whole for whole, _ in one) for one in compute.values()),
            sum(min(shared for _, shared in one) for one in compute.values()),
        ),
        link_ns=max((sum(one) / rate for one in zip(*moved, strict=True)), default=0.0),
        memory_ns=memory / system.dram_bytes_per_ns,
        gemm_ns={name: min(whole for whole, _ in one) for name, one in compute.items()},
        sent=dict(zip(names, (sent for sent, _ in moved), strict=True)),
        read=read,
        written=written,
    )


def _pipes_ns(system: System, work: Workload) -> Iterator[tuple[float, float]]:
    """Yield for each macro-tile the time of the CU with the most tiles, and the mean time of all
    CUs."""
    units = system.gpu.compute_units
    for tile in system.kernel.tiles:
        tiling = Tiling(m=work.m, n=work.n, k=work.k, **tile.model_dump())
        # The last step may be shorter than depth U.
        flops = 2 * tiling.tile_m * tiling.tile_n * work.k
        tile_ns = system.matrix_cycles(flops) * system.cycle_ns
        yield -(-tiling.workgroups // units) * tile_ns, tiling.workgroups / units * tile_ns


def _ports(system: System, fabric: Fabric) -> Iterator[float]:
    """Yield the mean payload in bytes per ns of all links that leave a GPU, and that enter one."""
    for ends in (fabric.leaving, fabric.entering):
        links = [fabric.links[number].values for gpu in ends[: fabric.gpus] for number in gpu]
        yield sum(_most_payload(system, one) for one in links) / fabric.gpus


def _most_payload(system: System, link: Link) -> float:
    """Payload of a link in the best packets of any engine, in bytes per ns."""
    # A fused GEMM's packets lose as much on a link of other values as plain stores do.
    own = link.stores_payload_share / system.link.stores_payload_share
    best = max(
        link.stores_payload_share,
        link.t3_payload_share,
        system.copy_engine.payload_share,
        own * system.fused.stores_payload_share,
    )
    return link.bandwidth_gb_per_s * best


def _link_bytes(
    program: Program, one: Collective, works: Mapping[str, Workload], fabric: Fabric
) -> tuple[float, float]:
    """Bytes that a GPU must send and receive in a collective, on average over the GPUs."""
    switches = fabric.switches
    reduces, copies = (
        bool(switches) and all(getattr(switch, name) for switch in switches)
        for name in ("reduces", "multicasts")
    )
    chunk = works[_gemm_of(program, one)].output_bytes / fabric.gpus
    others = (fabric.gpus - 1) * chunk
    sent = received = 0.0
    if one.reduces:
        sent += others
        received += chunk if reduces else others
    if one.operation != "reduce-scatter":
        sent += chunk if copies else others
        received += others
    return sent, received


def _gemm_of(program: Program, one: Collective) -> str:
    """Name of the GEMM whose output a collective reduces or gathers."""
    sources = {other.name: other for other in program.collectives}
    return _gemm_of(program, sources[one.of]) if one.of in sources else one.of


def _memory_bytes(
    program: Program, works: Mapping[str, Workload]
) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes that the memory reads and writes in each activity.

    A reduced output is stored at its owner alone; an all-gather stores the rest.
    """
    read, written = dict.fromkeys(program.names, 0), dict.fromkeys(program.names, 0)
    reduced = {one.of: one for one in program.collectives if one.reduces}
    for gemm in program.gemms:
        work = works[gemm.name]
        rows = 0 if _awaits_output(program, gemm) else work.m
        read[gemm.name] = (rows + work.n) * work.k * ELEMENT_BYTES
        if gemm.name not in reduced:
            written[gemm.name] = work.output_bytes
    for one in program.collectives:
        work = works[_gemm_of(program, one)]
        chunk = work.output_bytes // work.tp
        share = {"reduce-scatter": 1, "all-gather": work.tp - 1, "all-reduce": work.tp}
        written[one.name] = share[one.operation] * chunk
    return read, written


def _awaits_output(program: Program, gemm: Gemm) -> bool:
    """Test whether a GEMM needs another activity, whose output may be its operand."""
    return bool(gemm.needs)
