"""Part of one GPU in a ring reduce-scatter of a small kernel, with the Python driver."""

from collections.abc import Callable

from t3.driver import DOWNSTREAM, T3, Bus, Datatype, Operation, Peer, Ring, Transfer

BASE, BYTES = 1 << 17, 1 << 16  # the kernel's output


def reduce_scatter(bus: Bus, run_kernel: Callable[[], None]) -> int:
    """Reduce and send the kernel's stores in hardware; return the number of tracked tiles."""
    context = T3(bus).context(0)
    context.assign(3)  # the address space of the kernel
    context.reset_epochs()  # after a reset: the memory holds no epochs
    context.set_rank(1)  # in a ring of two GPUs: the other one is downstream and upstream
    context.peer(DOWNSTREAM, Peer(gpu=0, rank=0, space=3, sends_updates=True, takes_updates=True))
    context.region(0, BASE, BASE + BYTES)
    # Tiles of two rows of two atoms, by one wavefront each.
    tile = Transfer(
        rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1),
        op=Operation.SUM, dtype=Datatype.FP16,
    )  # fmt: skip
    # Six workgroups: two leave as they are stored, two when they are reduced, two stay.
    ring = Ring(
        workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8, generation=5,
    )  # fmt: skip
    context.reduce_scatter(ring, tile)
    context.launch()
    run_kernel()
    context.wait()
    context.wait_idle()
    return context.tiles
