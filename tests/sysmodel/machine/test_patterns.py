"""The driver's patterns program the same launches as the maps of the schedules."""

import pytest

from driver.python import (
    Context,
    Exchange,
    Gather,
    Overlap,
    Part,
    Recorder,
    Ring,
    Send,
    Transfer,
)
from rtl.interface.encodings import PacketKind
from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.lib.errors import InputError
from sysmodel.machine.credits import launch_windows
from sysmodel.machine.program import map_writes
from tests.support.recorded_ranges import recorded_ranges
from tests.support.small_kernel import small_kernel
from tests.support.small_system import small_system

GPUS = 3
PLACES = [0, 1 << 20, 2 << 20, 3 << 20]


def ring(sizes, gpu, windows):
    leaving, staying = sizes[(gpu + 1) % GPUS], sizes[gpu]
    return Ring(workgroups=sum(sizes), leaving=leaving, staying=staying, **windows)


def reduce_scatter(context, transfer, sizes, gpu, windows):
    context.reduce_scatter(ring(sizes, gpu, windows), transfer)


def ring_gather(context, transfer, sizes, gpu, windows):
    last = sizes[gpu - 1]
    passed = sum(sizes) - sizes[gpu] - last
    below = sizes[gpu - 1]
    gather = Gather(own=sizes[gpu], passed=passed, arriving=last, slot_offset=below, **windows)
    context.all_gather(gather, transfer)


def direct_gather(context, transfer, sizes, gpu, windows):
    gather = Gather(
        own=sizes[gpu], before=sum(sizes[:gpu]), arriving=sum(sizes[gpu + 1 :]), peers=(0, 1),
        **windows,
    )  # fmt: skip
    context.all_gather(gather, transfer)


def exchange(context, transfer, sizes, gpu, windows):
    """A GPU sends to the next one first, and receives last from it."""
    sent, before = [], 0
    for distance in range(1, GPUS):
        to = (gpu + distance) % GPUS
        slot = sum(sizes) + (distance - 1) * sizes[to]
        sent.append(Part(sizes[to], peers=(distance - 1,), slot_offset=slot - before))
        before += sizes[to]
    arriving = (GPUS - 1) * sizes[gpu]
    context.all_to_all(Exchange(tuple(sent), sizes[gpu], arriving, **windows), transfer)


def send(context, transfer, sizes, gpu, windows):
    whole = sum(sizes)
    context.send(Send(leaving=whole, arriving=whole, slot_offset=whole, **windows), transfer)


def overlap(context, transfer, sizes, gpu, windows):
    last = sizes[gpu - 1]
    passed = sum(sizes) - sizes[gpu] - last
    context.gemm_overlap(Overlap(ring(sizes, gpu, windows), passed, last), transfer)


def merged(ranges):
    """Ranges without empty ones, and neighbours that are alike as one; regions aside."""
    found = []
    for one in sorted(ranges, key=lambda each: each["first"]):
        way = {name: one[name] for name in one if name not in ("first", "last")}
        if found and found[-1][2] == way and found[-1][1] + 1 == one["first"]:
            found[-1][1] = one["last"]
        else:
            found.append([one["first"], one["last"], way])
    return found


@pytest.mark.parametrize("gpu", range(GPUS))
@pytest.mark.parametrize(
    ("name", "operation", "program"),
    [
        ("ring", "reduce-scatter", reduce_scatter),
        ("ring", "all-gather", ring_gather),
        ("direct", "all-gather", direct_gather),
        ("direct", "all-to-all", exchange),
        ("send", "send", send),
        ("ring", "all-reduce", overlap),
    ],
)
def test_same_launch(name, operation, program, gpu):
    kernel, system = small_kernel(gpus=GPUS, m=64 * 5), small_system()
    tracked = tracked_schedule(name, GPUS, operation)
    places = PLACES[: tracked.places]
    wanted = map_writes(kernel, system, gpu, tracked, address_space=1, places=places)
    credit, commands = launch_windows(kernel.chunks, system, tracked, gpu)
    bus = Recorder()
    transfer = Transfer(rows=1, run_atoms=1, stride_atoms=1, waves=(1, 1, 1, 1))
    sizes = kernel.chunks.sizes
    assert len(set(sizes)) > 1
    windows = {"credit_window": credit, "command_window": commands}
    program(Context(bus, ranges=0), transfer, sizes, gpu, windows)
    (ranges, values), (wanted_ranges, wanted_values) = map(recorded_ranges, (bus.writes, wanted))
    assert values == wanted_values
    assert merged(ranges) == merged(wanted_ranges)


def test_slots_beyond_the_dispatch_indices_are_refused(monkeypatch):
    """A send has twice as many slots as workgroups."""
    kernel, tracked = small_kernel(gpus=GPUS), tracked_schedule("send", GPUS, "send")
    for most, is_refused in ((32, False), (31, True)):
        monkeypatch.setattr("sysmodel.machine.program.MOST_WORKGROUPS", most)
        if not is_refused:
            map_writes(kernel, small_system(), 0, tracked, address_space=1)
            continue
        with pytest.raises(InputError, match="make 32 slots in a launch with send; allowed: up to"):
            map_writes(kernel, small_system(), 0, tracked, address_space=1)


def test_stores_of_a_gather_are_tracked():
    """The packets are stores, with markers; those of a reduce-scatter in front are updates."""
    transfer = Transfer(rows=1, run_atoms=1, stride_atoms=1, waves=(1, 1, 1, 1))
    windows = {"credit_window": 1, "command_window": 1}
    found = Overlap(ring([2, 2, 2], 0, windows), 2, 2).collective(transfer)
    kinds = [(part.transfer or transfer).kind for part in found.parts if part.peers]
    assert kinds == [PacketKind.UPDATE] * 2 + [PacketKind.STORE] * 2
