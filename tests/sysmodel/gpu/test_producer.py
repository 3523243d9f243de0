import math

import numpy as np
import pytest

from sysmodel.gpu.atoms import ELEMENTS
from sysmodel.gpu.fetch import buffer_progress
from sysmodel.gpu.geometry.placement import A_ATOM, B_ATOM
from sysmodel.gpu.pipe import MAIN_LOOPS, STEPS, TILES
from sysmodel.gpu.producer import produce
from sysmodel.gpu.stores import pop_store
from sysmodel.gpu.workgroups import (
    MODE_GEMM,
    MODE_SCATTER,
    REQUESTS,
    STORES,
    ComputeUnits,
    KernelTimes,
    PlacedKernel,
    set_up_kernel,
    set_up_units,
)
from sysmodel.lib.compiled import cached_njit
from sysmodel.lib.interleave import system_atom
from tests.support.small_kernel import bare_state, channel_by_hand, small_kernel

NO_LIMIT = 1 << 40


@cached_njit()
def _drive(s, start, end, limit, latency, drain_from, requests, stores, used):
    """GPU 0's workgroups against a memory that answers each request after ``latency`` cycles and
    takes all stores from ``drain_from`` on, until the last one has ended. Rows of requests:
    channel, line, mask, cycle; of stores: channel, workgroup, entry, cycle."""
    f, gpu, kernel = s.fixed[0], s.gpu[0], s.kernel[0, 0]
    kernel.limit = limit
    for now in range(start, end):
        produce(s, 0, now)
        for c in range(f.channels):
            channel = s.channel[c]
            while channel.request_count > 0:
                head = channel.request_head
                line, mask = channel.request_line[head], channel.request_mask[head]
                requests[used[0]] = c, line, np.int64(mask), now
                used[0] += 1
                channel.request_head = (head + 1) & (REQUESTS - 1)
                channel.request_count -= 1
                buffer_progress(gpu, np.int64(channel.request_token[head]), -1, now + latency, 1)
            while channel.store_count > 0 and now >= drain_from:
                head = channel.store_head
                w, entry = channel.store_workgroup[head], np.int64(channel.store_entry[head])
                stores[used[1]] = c, np.int64(w), entry, now
                used[1] += 1
                pop_store(s, 0, channel, now)
        if kernel.finished == kernel.workgroups:
            kernel.finish_cycle = now
            return now + 1
    return end


class Producer:
    """Kernel on a GPU with all times zero unless given."""

    def __init__(
        self, kernel, *, channels=1, channel_bits=0, hit_latency=0, mode=MODE_GEMM, **changes
    ):
        self.kernel = kernel
        self.state, self.output_atoms = bare_state(
            kernel, channels=channels, channel_bits=channel_bits
        )
        self.channels, self.channel_bits = channels, channel_bits
        self.state.fixed["hit_latency"] = hit_latency
        units = dict(
            cus=1, workgroups_per_cu=1, store_buffer=0, dispatch_interval_cycles=0.0,
            by_stage=False, pipe_turns=STEPS,
        )  # fmt: skip
        times = dict(step=1.0, launch=0, lds=0, epilogue=0, fetch=0, store=0)
        placed = dict(prefetch=2)
        assert changes.keys() <= units.keys() | times.keys() | placed.keys()
        for values in (units, times, placed):
            values |= {name: value for name, value in changes.items() if name in values}
        set_up_units(self.state, ComputeUnits(**units))
        set_up_kernel(
            self.state,
            PlacedKernel(tiling=kernel.tiling, output_atoms=self.output_atoms, mode=mode, **placed),
            KernelTimes(**times),
        )
        self.gpu, self.of_kernel, self.now = self.state.gpu[0], self.state.kernel[0, 0], 0
        self._requests = np.zeros((200_000, 4), np.int64)
        self._stores = np.zeros((50_000, 4), np.int64)
        self._used = np.zeros(2, np.int64)

    def run(self, cycles=100_000, *, limit=NO_LIMIT, latency=1, drain_from=0):
        self.now = _drive(
            self.state, self.now, self.now + cycles, limit, latency, drain_from,
            self._requests, self._stores, self._used,
        )  # fmt: skip
        return self

    @property
    def requests(self):
        return self._requests[: self._used[0]]

    @property
    def stores(self):
        return self._stores[: self._used[1]]

    @property
    def finish(self):
        return int(self.of_kernel["finish_cycle"])

    def atoms_read(self):
        return [
            system_atom(c, 4 * line + bit, 3, 1 << self.channel_bits)
            for c, line, mask, _ in self.requests.tolist()
            for bit in range(mask.bit_length())
            if mask >> bit & 1
        ]

    def check_stores(self):
        """Every atom came out once, in its channel, and every wavefront had one tile end."""
        data = self.stores[self.stores[:, 2] >= 0]
        assert sorted(data[:, 2]) == list(range(len(self.output_atoms.atom)))
        assert np.array_equal(data[:, 0], self.output_atoms.channel[data[:, 2]])
        owner = np.repeat(np.arange(self.kernel.workgroups), np.diff(self.output_atoms.start))
        assert np.array_equal(data[:, 1], owner[data[:, 2]])
        self.check_ends()
        sent = np.zeros_like(self.output_atoms.per_wave)
        np.add.at(sent, (data[:, 1], self.output_atoms.wave[data[:, 2]]), 1)
        assert np.array_equal(sent, self.output_atoms.per_wave)

    def check_ends(self):
        ends = self.stores[self.stores[:, 2] < 0]
        expected = zip(*np.nonzero(self.output_atoms.per_wave), strict=True)
        assert sorted(zip(ends[:, 1], -1 - ends[:, 2], strict=True)) == sorted(expected)


def one_tile(**changes):
    """A kernel with a single workgroup, of 32 atoms."""
    return small_kernel(**dict(m=64, n=8, gpus=1) | changes)


TIMES = dict(launch=20, lds=5, epilogue=13, store=64)
# The last of 32 atoms leaves when 31/32 of the store's time have passed.
LAST_STORE = 62


@pytest.mark.parametrize("k,steps", [(16, 1), (32, 2), (48, 3), (160, 10)])
@pytest.mark.parametrize("step_cycles", [12.0, 7.5])
def test_isolated_workgroup_takes_the_sum_of_its_parts(k, steps, step_cycles):
    latency = 3
    producer = Producer(one_tile(k=k), step=step_cycles, **TIMES).run(latency=latency)
    # A step's move into the LDS begins in the first whole cycle after the one before.
    compute = steps * (5 + math.ceil(step_cycles))
    assert producer.finish == 20 + latency + compute + 13 + LAST_STORE


@pytest.mark.parametrize("k,share", [(33, 0.5), (36, 0.5), (41, 1.0), (47, 1.0)])
def test_last_step_computes_what_is_left_in_eights(k, share):
    producer = Producer(one_tile(k=k), step=40.0).run()
    assert producer.finish == 1 + 40 + 40 + 40 * share


def test_memory_slower_than_the_prefetch_sets_the_pace():
    latency, steps = 1000, 10
    producer = Producer(one_tile(k=16 * steps), step=12.0, lds=5).run(latency=latency)
    # Two steps are asked for at a time; the second's tiles wait for the first's computation.
    rounds = steps // 2
    assert producer.finish == rounds * (latency + 5) + 12 + 5 + 12


def test_deeper_prefetch_hides_more_latency():
    slow, fast = (
        Producer(one_tile(k=160), step=12.0, prefetch=depth).run(latency=30).finish
        for depth in (1, 4)
    )
    # The next step is asked for when the one before has left its buffer.
    assert slow == 10 * 30 + 12
    assert fast == 30 + 10 * 12


def test_port_of_the_compute_unit_takes_its_time():
    producer = Producer(one_tile(k=160), step=12.0, fetch=500).run()
    assert producer.finish == 5 * 500 + 12 + 12


def test_data_that_lie_in_other_channels_take_a_hit():
    # One row of A and one of B, and only one channel of 256.
    kernel = one_tile(tile_m=16, tile_n=1, m=16, n=1, waves_m=1, k=16)
    for bits in range(8, 0, -1):
        producer = Producer(kernel, channel_bits=bits, hit_latency=70, step=9.0)
        producer.run(latency=7)
        atoms = [A_ATOM + r for r in range(16)] + [B_ATOM]
        here = any(channel_by_hand(atom, bits) == 0 for atom in atoms)
        assert (len(producer.requests) > 0) == here
        if not here:
            break
    assert not here
    # The workgroup ends with and without a tile end.
    assert producer.finish == 70 + 9


def test_workgroups_of_a_compute_unit_share_its_pipe():
    kernel = one_tile(m=128, k=160)
    alone, both = (
        Producer(kernel, workgroups_per_cu=per_cu, step=12.0, lds=10).run().finish
        for per_cu in (1, 2)
    )
    # The workgroups run one after the other, each with a cycle for its launch.
    assert alone == 2 * (1 + 10 * (10 + 12)) + 1
    # One workgroup moves its tiles while the other computes, and the pipe is never idle.
    assert both == 1 + 10 + 2 * 10 * 12


@pytest.mark.parametrize(
    ("pipe_turns", "cycles", "most_cycles"),
    [
        (STEPS, 8 * 80 + 50, 4 * (2 * 80 + 50)),  # at worst both workgroups end together
        (MAIN_LOOPS, 8 * 80 + 50, 8 * 80 + 50),  # only the last end is exposed
        (TILES, 8 * (80 + 50), 8 * (80 + 50)),
    ],
)
def test_a_turn_on_the_pipe_sets_what_overlaps(pipe_turns, cycles, most_cycles):
    kernel = small_kernel(m=64, n=64, k=64, depth_u=16, gpus=1)
    assert (kernel.workgroups, kernel.tiling.steps) == (8, 4)
    units = {"cus": 1, "workgroups_per_cu": 2, "pipe_turns": pipe_turns}
    producer = Producer(kernel, **units, step=20.0, epilogue=50).run()
    producer.check_stores()
    # First loads, and stores of a tile, take a few cycles each.
    assert cycles <= producer.finish <= most_cycles + 3 * kernel.workgroups


def test_compute_units_do_not_wait_for_each_other():
    kernel = one_tile(m=128, k=160)
    producer = Producer(kernel, cus=2, step=12.0).run()
    assert producer.finish == 1 + 10 * 12


def test_pipe_adds_up_fractions_of_cycles():
    kernel = one_tile(m=256, k=160)
    producer = Producer(kernel, workgroups_per_cu=4, prefetch=4, step=2.3).run()
    assert producer.finish == 1 + math.ceil(4 * 10 * 2.3)


@pytest.mark.parametrize(
    "kernel",
    [
        small_kernel(),
        small_kernel(m=250, n=31, k=50),
        small_kernel(tile_m=8, tile_n=64, m=31, n=250, waves_m=1, waves_n=2, column_major=False),
    ],
    ids=["whole tiles", "edges", "row-major"],
)
@pytest.mark.parametrize("channels,channel_bits", [(1, 0), (4, 2), (1, 3)])
def test_everything_is_stored_once_and_every_tile_ends(kernel, channels, channel_bits):
    producer = Producer(
        kernel, channels=channels, channel_bits=channel_bits,
        cus=2, workgroups_per_cu=2, store=40,
    )  # fmt: skip
    producer.of_kernel["first_workgroup"] = 5
    producer.run(latency=25)
    producer.check_stores()
    assert producer.of_kernel["finished"] == kernel.workgroups
    assert producer.finish == producer.stores[-1, 3] == producer.now - 1
    assert producer.state.channel["request_count"].sum() == 0


def test_tile_ends_follow_the_stores_of_their_workgroup():
    producer = Producer(small_kernel(), cus=3, store=40).run()
    for w in range(producer.kernel.workgroups):
        entry = producer.stores[producer.stores[:, 1] == w, 2]
        assert (entry[:-2] >= 0).all()
        assert entry[-2:].tolist() == [-1, -2]


def test_stores_leave_at_the_pace_of_the_compute_unit():
    producer = Producer(one_tile(k=16), store=100).run()
    data = producer.stores[producer.stores[:, 2] >= 0]
    assert np.array_equal(data[:, 3] - data[0, 3], np.arange(32) * 100 // 32)


def test_full_queue_of_stores_makes_the_compute_units_wait():
    kernel = small_kernel(m=1024, n=768, tile_m=256, tile_n=256, k=16)
    total = 12 * 16 * 256
    assert total > STORES
    producer = Producer(kernel, cus=12).run(5000, drain_from=5000)
    assert producer.state.channel["store_count"][0] == STORES
    assert producer.of_kernel["finished"] == 0
    producer.run()
    producer.check_stores()
    assert producer.of_kernel["finished"] == 12


@pytest.mark.parametrize("depth", [0, 1, 20, 33, 34])
def test_slot_is_free_when_all_its_stores_are_in_the_store_buffer(depth):
    """A tile has 32 atoms and two tile ends. The slot's next workgroup begins when all but
    ``depth`` of them have been taken."""
    kernel = small_kernel(m=128, n=8, k=16, gpus=1)
    drain_from = 400
    producer = Producer(kernel, store_buffer=depth).run(drain_from=drain_from)
    begin = producer.state.stage_begin[0]
    assert begin[1] < drain_from if depth >= 34 else begin[1] >= drain_from
    producer.run(drain_from=drain_from)
    producer.check_stores()


@pytest.mark.parametrize("by_stage", [False, True])
def test_stage_begins_when_the_one_before_has_ended(by_stage):
    # Six workgroups on four slots of two CUs: those of a CU share its pipe, so they end in pairs.
    kernel = small_kernel(m=384, n=8, k=16, gpus=1)
    producer = Producer(kernel, cus=2, workgroups_per_cu=2, step=100.0, by_stage=by_stage).run()
    producer.check_stores()
    begin, end = producer.state.stage_begin[0], producer.state.stage_end[0]
    assert (begin[1] >= end[0]) == by_stage


@pytest.mark.parametrize(
    "m,n,k,depth_u",
    [(256, 32, 64, 16), (250, 31, 50, 16), (128, 16, 96, 24), (128, 16, 64, 8), (128, 16, 216, 80)],
)
@pytest.mark.parametrize("channels,channel_bits", [(1, 0), (2, 2)])
def test_operands_are_read_once_by_every_workgroup(m, n, k, depth_u, channels, channel_bits):
    kernel = small_kernel(m=m, n=n, k=k, depth_u=depth_u)
    producer = Producer(kernel, channels=channels, channel_bits=channel_bits).run()
    stride = -(-k // ELEMENTS)
    expected = []
    for row, column in zip(*kernel.chunks.tiles, strict=True):
        for base, first, size, end in ((A_ATOM, row, 64, m), (B_ATOM, column, 8, n)):
            for r in range(first * size, min((first + 1) * size, end)):
                expected += range(base + r * stride, base + (r + 1) * stride)
    expected = [atom for atom in expected if channel_by_hand(atom, channel_bits) < channels]
    assert sorted(producer.atoms_read()) == sorted(expected)


def test_dispatch_indices_at_the_limit_wait():
    kernel = small_kernel()
    producer = Producer(kernel, cus=4)
    for limit in (0, 3, 3, 9, 16):
        producer.run(3000, limit=limit)
        assert producer.of_kernel["next_dispatch_index"] == producer.of_kernel["finished"] == limit
        assert len(np.unique(producer.stores[:, 1])) == limit
    assert producer.finish > 4 * 3000


def test_production_starts_at_the_first_workgroup():
    producer = Producer(small_kernel())
    producer.of_kernel["first_workgroup"] = 11
    producer.run()
    ends = producer.stores[producer.stores[:, 2] == -1, 1]
    assert ends.tolist() == [*range(11, 16), *range(11)]


def test_dispatcher_fills_the_compute_units_evenly():
    producer = Producer(small_kernel(), cus=3, workgroups_per_cu=2, launch=1000).run(1)
    units = np.argsort(producer.gpu["dispatch_index"][:6]) // 2
    assert units.tolist() == [0, 1, 2, 0, 1, 2]


def test_dispatch_takes_its_interval():
    producer = Producer(small_kernel(), cus=8, launch=1000, dispatch_interval_cycles=3.0)
    dispatched = [int(producer.run(1).of_kernel["next_dispatch_index"]) for _ in range(24)]
    assert dispatched == [1 + now // 3 for now in range(24)]


def test_a_late_launch_delays_its_workgroup_only():
    producer = Producer(small_kernel(), cus=16, launch=10, step=5.0)
    producer.state.launch_late[0, 3] = 7
    producer.run()
    ends = producer.stores[producer.stores[:, 2] < 0]
    last = {w: ends[ends[:, 1] == w, 3].max() for w in range(16)}
    first = int(producer.of_kernel["first_workgroup"])
    assert {w for w in last if last[w] != last[first]} == {first + 3}
    assert last[first + 3] == last[first] + 7


def test_the_dispatcher_waits_at_the_held_workgroups():
    held = Producer(small_kernel(), cus=4, launch=10, step=5.0)
    held.state.hold[0, [2, 9]] = 30, 11
    dispatched = [int(held.run(1).of_kernel["next_dispatch_index"]) for _ in range(31)]
    assert dispatched == [2] * 30 + [4]
    held.run()
    free = Producer(small_kernel(), cus=4, launch=10, step=5.0).run()
    assert free.finish < held.finish <= free.finish + 30 + 11
    assert not held.state.hold.any()
    assert not held.state.withheld.any()


def test_waits_for_the_limit_are_counted_for_the_workgroup_that_waits():
    producer = Producer(small_kernel(), cus=4, launch=1000)
    producer.run(5, limit=3).run(20, limit=4)
    assert producer.state.withheld[0].tolist() == [0, 0, 0, 5, *[0] * 12]


def test_stage_spans_its_workgroups():
    producer = Producer(small_kernel(), cus=8, launch=10, step=5.0).run()
    begin, end = producer.state.stage_begin[0], producer.state.stage_end[0]
    alone = 10 + 1 + 4 * 5
    assert begin[:2].tolist() == [0, alone + 1]
    assert end[:2].tolist() == [alone, 2 * alone + 1] == [alone, producer.finish]
    assert (begin[2:] == -1).all() and (end[2:] == -1).all()


@pytest.mark.parametrize("channels,channel_bits", [(1, 0), (2, 2)])
def test_scatter_reads_and_stores_the_first_chunk_only(channels, channel_bits):
    kernel = small_kernel(m=250, n=31, gpus=4)
    producer = Producer(
        kernel, channels=channels, channel_bits=channel_bits, mode=MODE_SCATTER, cus=2
    )
    first = int(kernel.chunks.start[2])
    producer.of_kernel["first_workgroup"] = first
    producer.of_kernel["tracked_first"] = kernel.chunks.sizes[2]
    producer.run(latency=9)
    start = producer.output_atoms.start
    chunk = range(start[first], start[first + kernel.chunks.sizes[2]])
    data = producer.stores[producer.stores[:, 2] >= 0]
    assert sorted(data[:, 2]) == list(chunk)
    assert sorted(producer.atoms_read()) == sorted(producer.output_atoms.atom[chunk])
    producer.check_ends()
    assert producer.finish == producer.now - 1


def test_scatter_waits_for_the_partial_products():
    kernel = small_kernel(m=128, n=8)
    producer = Producer(kernel, mode=MODE_SCATTER, launch=10, store=64)
    producer.of_kernel["tracked_first"] = 1
    producer.run(latency=300)
    # The second announces its tile ends at once.
    assert producer.state.stage_end[0].tolist() == [10 + 300 + 1 + LAST_STORE - 1, producer.finish]
    assert producer.finish == 10 + 300 + LAST_STORE + 1 + 10


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"cus": 1025}, "1025 CUs of 1 workgroups are more than the 1024 CUs and 2048"),
        ({"cus": 1024, "workgroups_per_cu": 3}, "1024 CUs of 3 workgroups are more"),
        ({"prefetch": 5}, "kernel.prefetch_depth must be at most 4, not 5"),
    ],
)
def test_larger_than_the_model_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Producer(small_kernel(), **changes)


def test_largest_gpu_is_allowed():
    producer = Producer(small_kernel(), cus=1024, workgroups_per_cu=2)
    assert producer.gpu["free_count"] == 2048


def test_step_of_more_lines_than_a_queue_is_refused():
    kernel = small_kernel(m=1024, n=1024, tile_m=1024, tile_n=1024, gpus=1, depth_u=1024, k=1024)
    with pytest.raises(
        ValueError, match=r"a step of \d+ lines exceeds the 32768 that a queue holds"
    ):
        Producer(kernel, prefetch=4)
