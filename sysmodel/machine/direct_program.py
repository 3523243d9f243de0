"""Program of a direct reduce-scatter: every GPU stores tiles of a chunk straight to its owner."""

from dataclasses import replace

from driver.python import T3, Context, Peer, Recorder
from driver.python.context import TILES
from rtl.interface.encodings import PacketKind
from sysmodel.config.system import System
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.neighbours import scattered

from .program import OUTPUT, Writes, arbitrate, transfer_of, ways_of

__all__ = ["direct_map_writes", "direct_slots"]


def direct_slots(chunks: Chunks, gpu: int) -> tuple[int, int]:
    """Compute a GPU's first dispatch index, and its first slot.

    A slot is the tile of a contribution, and contributions are numbered by the order in which the
    ring would add them: those of the GPU behind the owner come first, the owner's come last. The
    owner's tiles have their dispatch indices as slots, so these begin late enough that no slot is
    negative.
    """
    gpus, total = len(chunks.sizes), sum(chunks.sizes)
    base = max(0, gpus * max(chunks.sizes) - total)
    return base, base + total - gpus * chunks.sizes[gpu]


def direct_map_writes(
    kernel: Kernel,
    system: System,
    gpu: int,
    *,
    address_space: int,
    op: str = "sum",
    dtype: str = "fp16",
    policy: str = "round-robin",
    context: int = 0,
    contexts: int = 1,
) -> Writes:
    """Map the output for a direct reduce-scatter that the GEMM's stores drive.

    Each contribution has a slot of its own. With a credit window of at most a chunk, an owner adds
    the contributions to a tile in the order of their slots, which is the ring's. Peer *k* is the
    GPU *k* + 1 further on. Arguments are those of ``map_writes``.
    """
    gpus, chunks, t3, bus = kernel.gpus, kernel.chunks, system.t3, Recorder()
    base, first_slot = direct_slots(chunks, gpu)
    end = base + kernel.workgroups
    held = t3.tracker_sets * (t3.tracker_ways // contexts // chunks.tiling.waves)
    credit_window = min(t3.credit_window_workgroups, held, chunks.sizes[gpu])
    ours = Context(bus, context, ranges=0)  # after a reset
    ours.assign(address_space, ways=ways_of(t3.tracker_ways, context, contexts))
    ours.set_rank(gpu)
    for index in range(gpus - 1):
        other = (gpu + 1 + index) % gpus
        ours.peer(
            index,
            Peer(
                other,
                other,
                address_space,
                sends_stores=True,
                sends_updates=True,
                takes_stores=True,
                takes_updates=True,
            ),
        )
    ours.region(OUTPUT, kernel.output_atom * ATOM_BYTES, kernel.output_end * ATOM_BYTES)
    transfer = replace(transfer_of(kernel, system, op, dtype), kind=PacketKind.UPDATE, marks=True)
    ours.command(TILES, transfer, region=OUTPUT)
    index = base
    for step in range(gpus - 1):
        owner = scattered(gpu, step, gpus)
        size = chunks.sizes[owner]
        slot = direct_slots(chunks, owner)[1] + step * size
        first = index if step else 0  # slots may be lower than all dispatch indices
        ours.remote_map(
            first,
            index + size - first,
            region=OUTPUT,
            shares=1,
            peers=[step],
            slot_offset=slot - index,
        )
        index += size
    ours.own_map(index, chunks.sizes[gpu], region=OUTPUT, shares=1)
    ours.window(
        workgroups=end,
        tracked=(first_slot, end),
        to_send=kernel.workgroups - chunks.sizes[gpu],
        credit_window=credit_window,
        command_window=t3.command_depth,
    )
    if context == 0:
        arbitrate(T3(bus), kernel.tiling, system, policy)
    return bus.writes
