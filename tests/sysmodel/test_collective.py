import numpy as np
import pytest
from model_fixtures import bare_state, small_kernel
from numba import njit

from sysmodel.collective import (
    BLOCK,
    MOST_WINDOW,
    begin_step,
    collective_next_read,
    collective_read_back,
    collective_read_taken,
    collective_store,
    collective_store_left,
    step_done,
)
from sysmodel.config import load_system
from sysmodel.errors import InputError
from sysmodel.schema import validate

STAGING = 1 << 30


@njit(cache=True)
def _drive(s, cycles, delay, gate, reads, stores):
    """GPU 0's channels against a memory that returns read *n* after ``delay[n]`` cycles and lets
    reads and stores pass as ``gate`` says. Rows of reads: channel, atom, tag, issued, returned; of
    stores: channel, atom, left, whether the step was done before and after."""
    f, gpu = s.fixed[0], s.gpu[0]
    issued = stored = 0
    for now in range(cycles):
        for n in range(issued):
            if reads[n, 4] == now:
                collective_read_back(s.channel[reads[n, 0]], reads[n, 2])
        for c in range(f.channels):
            channel = s.channel[c]
            atom, tag = collective_next_read(s, gpu, channel, c)
            if atom >= 0 and gate[now, 0]:
                collective_read_taken(gpu, channel, f.window_atoms)
                reads[issued] = c, atom, tag, now, now + delay[issued]
                issued += 1
            atom = collective_store(s, channel, c)
            if atom >= 0 and gate[now, 1]:
                before = int(step_done(s, 0))
                collective_store_left(channel, f.window_atoms)
                stores[stored] = c, atom, now, before, int(step_done(s, 0))
                stored += 1
    return issued, stored


class Step:
    """One step of a collective: what it read and stored."""

    def __init__(
        self,
        atoms=512,
        *,
        operands=1,
        window=128,
        cus=1,
        channels=1,
        delay=(1, 40),
        chunk=1,
        seed=0,
    ):
        # Two chunks of tiles of 8 atoms.
        kernel = small_kernel(m=64, n=atoms // 2, tile_n=2)
        bits = (channels - 1).bit_length()
        self.state, _ = bare_state(kernel, channels=channels, channel_bits=bits)
        start = self.state.chunk_start[:, chunk : chunk + 2]
        self.chunk = [self.state.chunk_atom[c, a:b].tolist() for c, (a, b) in enumerate(start)]
        self.state.fixed["window_atoms"], self.state.fixed["collective_cus"] = window, cus
        begin_step(self.state, 0, chunk, operands, STAGING)
        print("seed", seed)
        random = np.random.default_rng(seed)
        cycles, accesses = 20 * atoms, 2 * atoms + 16
        delays = random.integers(delay[0], delay[1] + 1, accesses)
        gate = random.random((cycles, 2)) < 0.8
        reads, stores = np.full((2, accesses, 5), -1, np.int64)
        issued, stored = _drive(self.state, cycles, delays, gate, reads, stores)
        self.reads, self.stores = reads[:issued], stores[:stored]

    @property
    def stride(self):
        return int(self.state.channel["step_stride"][0])


CASES = [
    dict(operands=1),
    dict(operands=2),
    dict(operands=2, delay=(1, 900)),
    dict(operands=2, cus=5),
    dict(operands=1, cus=64),
    dict(operands=2, channels=4, cus=3),
    dict(operands=2, atoms=502),
    dict(operands=1, atoms=204, cus=4),
    dict(operands=2, window=1024),
    dict(operands=2, chunk=0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_atom_is_read_once_per_operand_and_stored_once(case, seed):
    step = Step(**case, seed=seed)
    for c, chunk in enumerate(step.chunk):
        expected = list(chunk)
        if case["operands"] == 2:
            expected += [atom + STAGING for atom in chunk]
        assert sorted(step.reads[step.reads[:, 0] == c, 1]) == sorted(expected)
        assert sorted(step.stores[step.stores[:, 0] == c, 1]) == chunk


@pytest.mark.parametrize("case", CASES, ids=str)
def test_atom_is_stored_after_its_operands_arrived(case):
    step = Step(**case)
    arrived = {}
    for _, atom, _, _, at in step.reads:
        arrived[atom % STAGING] = max(at, arrived.get(atom % STAGING, 0))
    for _, atom, left, _, _ in step.stores:
        assert left >= arrived[atom]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_window_bounds_the_atoms_in_flight(case):
    step = Step(**case)
    window = case.get("window", 128)
    for c in range(len(step.chunk)):
        begin = {}
        for _, atom, tag, issued, _ in step.reads[step.reads[:, 0] == c]:
            assert 0 <= tag < window
            begin.setdefault(atom % STAGING, issued)
        left = step.stores[step.stores[:, 0] == c, 2]
        times = np.concatenate([list(begin.values()), left])
        change = np.repeat([1, -1], [len(begin), len(left)])
        in_flight = np.cumsum(change[np.lexsort((-change, times))])
        assert 1 < in_flight.max() <= window


def test_two_atoms_in_flight_have_different_tags():
    step = Step(operands=1, delay=(1, 900))
    left = dict(step.stores[:, 1:3])
    for tag in np.unique(step.reads[:, 2]):
        mine = step.reads[step.reads[:, 2] == tag]
        for (_, atom, _, _, _), (_, _, _, next_issued, _) in zip(mine, mine[1:], strict=False):
            assert left[atom] <= next_issued


@pytest.mark.parametrize("channels", [1, 4])
def test_step_is_done_with_the_last_store(channels):
    step = Step(channels=channels, operands=2)
    before, after = step.stores[:, 3], step.stores[:, 4]
    assert not before.any()
    assert after.tolist() == [0] * (len(after) - 1) + [1]


def test_operands_alternate_in_groups():
    step = Step(operands=2, window=1024, delay=(1, 1))
    second = step.reads[:, 1] >= STAGING
    assert np.flatnonzero(np.diff(second)).tolist() == list(range(63, len(second) - 1, 64))


def test_idle_gpu_reads_nothing():
    step = Step(operands=0)
    assert len(step.reads) == len(step.stores) == 0


@pytest.mark.parametrize("atoms,cus", [(512, 4), (512, 5), (1024, 16), (1024, 7)])
def test_compute_units_take_turns(atoms, cus):
    step = Step(atoms, cus=cus, delay=(1, 1))
    first = step.chunk[0][0]
    blocks = (step.reads[:, 1] - first) // BLOCK
    # Whole blocks in order, each once.
    assert np.array_equal(blocks, np.repeat(blocks[::BLOCK], BLOCK))
    order, count = blocks[::BLOCK], len(step.chunk[0]) // BLOCK
    assert sorted(order) == list(range(count))
    # From one to the next it is a CU's part, or a little more so that all come.
    part = count // cus
    assert part <= step.stride <= part + 4
    assert set(np.diff(order) % count) == {step.stride}


@pytest.mark.parametrize("atoms,cus", [(512, 1000), (502, 4), (512, 1)])
def test_what_cannot_be_shared_is_read_in_order(atoms, cus):
    step = Step(atoms, cus=cus)
    assert step.stride == 1
    assert np.array_equal(step.reads[:, 1], step.chunk[0])


def test_windows_that_a_system_may_have_work():
    system = load_system()
    for window in (128, MOST_WINDOW):
        assert len(Step(window=window, operands=2).stores) == 512
        allowed = {"collective": {"window_atoms": window}}
        assert validate(type(system), system.model_dump() | allowed, "x").collective
    for window in (64, 2 * MOST_WINDOW):
        refused = {"collective": {"window_atoms": window}}
        with pytest.raises(InputError, match="window_atoms"):
            validate(type(system), system.model_dump() | refused, "x")
