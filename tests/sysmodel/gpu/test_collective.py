import numpy as np
import pytest

from sysmodel.gpu.collective import (
    BLOCK,
    collective_next_read,
    collective_read_back,
    collective_read_taken,
    collective_store,
    collective_store_left,
    step_done,
)
from sysmodel.gpu.collective_step import Operand, Target, Task, begin_step, set_up_collective
from sysmodel.lib.compiled import cached_njit
from tests.support.small_kernel import bare_state, small_kernel

STAGING = 1 << 30


@cached_njit()
def _drive(s, cycles, delay, gate, reads, stores):
    """Run GPU 0's channels against a memory that returns read *n* after ``delay[n]`` cycles.

    ``gate`` says in each cycle whether reads and stores pass. Rows of reads: channel, atom,
    wavefront, issued, returned. Rows of stores: channel, atom, left, whether the step was done
    before and after.
    """
    f = s.fixed[0]
    issued = stored = 0
    for now in range(cycles):
        for n in range(issued):
            if reads[n, 4] == now:
                collective_read_back(s, 0, reads[n, 2])
        for c in range(f.channels):
            channel = s.channel[c]
            atom, wave = collective_next_read(s, 0, channel, c, now)
            if atom >= 0 and gate[now, 0]:
                collective_read_taken(s, 0, channel)
                reads[issued] = c, atom, wave, now, now + delay[issued]
                issued += 1
            atom, _ = collective_store(s, 0, channel, c, now)
            if atom >= 0 and gate[now, 1]:
                before = int(step_done(s, 0))
                collective_store_left(s, 0, channel)
                stores[stored] = c, atom, now, before, int(step_done(s, 0))
                stored += 1
    return issued, stored


class Step:
    """One step of a collective, with its reads and stores."""

    def __init__(
        self,
        atoms=512,
        *,
        operands=1,
        batch=16,
        cus=1,
        waves=1,
        channels=1,
        port=0.0,
        delay=(1, 40),
        chunk=1,
        gates=0.8,
        seed=0,
        tasks=None,
        uneven=(),
    ):
        # Two chunks of tiles of 8 atoms.
        kernel = small_kernel(m=64, n=atoms // 2, tile_n=2)
        bits = (channels - 1).bit_length()
        self.state, _ = bare_state(kernel, channels=channels, channel_bits=bits)
        for c, fewer in enumerate(uneven):
            self.state.chunk_start[c, chunk + 1] -= fewer
            self.state.chunk_size[chunk] -= fewer
        start = self.state.chunk_start[:, chunk : chunk + 2]
        self.chunk = [self.state.chunk_atom[c, a:b].tolist() for c, (a, b) in enumerate(start)]
        self.batch = batch
        set_up_collective(
            self.state, cus=cus, waves_per_cu=waves, batch_atoms=batch, port_cycles=port
        )
        one = Task(chunk, (Operand(0), Operand(STAGING))[:operands], (Target(0, 0),))
        begin_step(self.state, 0, [one][: operands and 1] if tasks is None else tasks)
        print("seed", seed)
        random = np.random.default_rng(seed)
        cycles, accesses = 100 * atoms, 8 * atoms + 16
        delays = random.integers(delay[0], delay[1] + 1, accesses)
        gate = random.random((cycles, 2)) < gates
        reads, stores = np.full((2, accesses, 5), -1, np.int64)
        issued, stored = _drive(self.state, cycles, delays, gate, reads, stores)
        self.reads, self.stores = reads[:issued], stores[:stored]

    def wave_of(self, c, atom):
        """Wavefront that reads an atom of channel ``c``."""
        mine = (self.reads[:, 0] == c) & (self.reads[:, 1] == atom)
        return int(self.reads[mine, 2][0])


CASES = [
    dict(operands=1),
    dict(operands=2),
    dict(operands=2, delay=(1, 900)),
    dict(operands=2, cus=5),
    dict(operands=2, cus=3, waves=4, port=1.7),
    dict(operands=1, cus=64),
    dict(operands=1, cus=1000),
    dict(operands=2, channels=4, cus=3),
    dict(operands=2, channels=4, cus=7, port=3.3),
    dict(operands=2, atoms=502),
    dict(operands=1, atoms=204, cus=4),
    dict(operands=2, batch=1),
    dict(operands=2, batch=500),
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
def test_a_batch_is_stored_after_all_its_operands_arrived(case):
    step = Step(**case)
    for wave in np.unique(step.reads[:, 2]):
        mine = step.reads[step.reads[:, 2] == wave]
        owned = {(c, atom % STAGING) for c, atom, _, _, _ in mine}
        left = [row for row in step.stores if (row[0], row[1]) in owned]
        for _, _, at, _, _ in left:
            # All its loads have returned by then: it does not load ahead of its stores.
            asked = mine[mine[:, 3] < at]
            assert (asked[:, 4] <= at).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wavefront_holds_one_batch(case):
    step = Step(**case)
    for wave in np.unique(step.reads[:, 2]):
        mine = step.reads[(step.reads[:, 2] == wave) & (step.reads[:, 1] < STAGING)]
        for c in range(len(step.chunk)):
            asked = mine[mine[:, 0] == c, 3]
            owned = set(mine[mine[:, 0] == c, 1])
            left = [row[2] for row in step.stores if row[0] == c and row[1] in owned]
            times = np.concatenate([asked, left])
            change = np.repeat([1, -1], [len(asked), len(left)])
            held = np.cumsum(change[np.lexsort((change, times))])
            assert held.max() <= step.batch


@pytest.mark.parametrize("channels", [1, 4])
def test_step_is_done_with_the_last_store(channels):
    step = Step(channels=channels, operands=2)
    before, after = step.stores[:, 3], step.stores[:, 4]
    assert not before.any()
    assert after.tolist() == [0] * (len(after) - 1) + [1]


OWN, STAGED = Operand(0), Operand(STAGING)
TASKS = [
    [Task(0, (OWN,), (Target(7 * STAGING, 2),)), Task(1, (OWN, STAGED), (Target(0, 0),))],
    [
        Task(
            1,
            (OWN, STAGED, Operand(2 * STAGING, 24)),
            (Target(STAGING, 0), Target(0, 0), Target(9, 0, 1000)),
        )
    ],
    [Task(chunk, (OWN,), (Target(chunk * STAGING, 0),)) for chunk in (0, 1, 0, 1)],
    [Task(chunk, (Operand(STAGING, 5), OWN), (Target(0, 1, 77),)) for chunk in (1, 0)],
]


@pytest.mark.parametrize("tasks", TASKS, ids=range(len(TASKS)))
@pytest.mark.parametrize("cus", [1, 2, 3, 9])
@pytest.mark.parametrize("channels", [1, 4])
def test_every_task_reads_its_operands_and_stores_at_its_targets(tasks, cus, channels):
    step = Step(tasks=tasks, cus=cus, channels=channels, operands=3, batch=5)
    state = step.state
    for c in range(channels):
        read, stored = [], []
        for task in tasks:
            first, end = state.chunk_start[c, task.chunk : task.chunk + 2]
            for accesses, places in ((read, task.operands), (stored, task.targets)):
                for place in places:
                    row = np.roll(state.chunk_atom[c, : state.chunk_start[c, -1]], -place.rotation)
                    accesses += (row[first:end] + place.offset).tolist()
        assert sorted(step.reads[step.reads[:, 0] == c, 1]) == sorted(read)
        assert sorted(step.stores[step.stores[:, 0] == c, 1]) == sorted(stored)
    done = step.stores[:, 4]
    assert done.tolist() == [0] * (len(done) - 1) + [1]


@pytest.mark.parametrize("uneven", [(0, 8, 16, 0), (40, 0, 0, 0), (3, 17, 1, 60)])
def test_a_channel_with_more_atoms_has_a_larger_share_of_ports_and_batches(uneven):
    how = dict(port=4.0, cus=2, waves=2, operands=2, delay=(1, 1), gates=1.0)
    even = Step(2048, channels=4, **how)
    state = even.state
    total = int(state.chunk_size[1]) - sum(uneven)
    other = Step(2048, channels=4, uneven=uneven, **how)
    ends = [other.stores[other.stores[:, 0] == c, 2].max() for c in range(4)]
    # All channels end together, in the time of an even chunk of this size.
    expected = even.stores[-1, 2] * total / int(state.chunk_size[1])
    assert ends == pytest.approx([expected] * 4, rel=0.1)


def test_idle_gpu_reads_nothing():
    step = Step(operands=0)
    assert len(step.reads) == len(step.stores) == 0


@pytest.mark.parametrize("atoms,cus", [(512, 4), (512, 5), (1024, 16), (1024, 7)])
@pytest.mark.parametrize("waves", [1, 3])
def test_every_wavefront_has_a_contiguous_part(atoms, cus, waves):
    step = Step(atoms, cus=cus, waves=waves)
    chunk = step.chunk[0]
    owners = [step.wave_of(0, atom) for atom in chunk]
    assert sorted(owners) == owners
    parts = np.bincount(owners, minlength=cus * waves)
    assert len(parts) == cus * waves
    assert parts.max() - parts.min() <= BLOCK
    # Whole blocks, so that no wavefront's load is torn.
    assert (np.cumsum(parts) % BLOCK == 0).all()


@pytest.mark.parametrize("port,cus,waves", [(4.0, 1, 1), (4.0, 3, 1), (2.5, 2, 1), (4.0, 1, 4)])
def test_ports_bound_the_rate(port, cus, waves):
    # Memory and link take everything at once.
    atoms = 512
    step = Step(atoms, cus=cus, waves=waves, port=port, operands=2, delay=(1, 1), gates=1.0)
    for cu in range(cus):
        blocks = step.reads[step.reads[:, 2] // waves == cu, 3][::BLOCK]
        # A fraction of a cycle is kept, so pairs of blocks show the rate.
        assert (blocks[2:] - blocks[:-2] >= 2 * port * BLOCK - 1).all()
    # Loads and stores of a batch follow each other; beside that a batch costs some cycles.
    loads, stores = (accesses * port / cus for accesses in (2 * atoms, atoms))
    assert loads <= step.stores[-1, 2] <= loads + stores + 40 * atoms / 16 / cus


@pytest.mark.parametrize("channels", [2, 4])
def test_a_channel_has_its_share_of_a_port_whatever_the_others_do(channels):
    how = dict(port=4.0, cus=2, waves=2, operands=2, delay=(1, 1), gates=1.0)
    alone = Step(512, **how).stores[[0, -1], 2]
    beside = Step(512 * channels, channels=channels, **how).stores[[0, -1], 2]
    assert beside == pytest.approx(alone, abs=2 * BLOCK)
