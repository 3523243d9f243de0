import random
from itertools import product

import pytest
from amaranth.sim import Simulator

from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.interface.encodings import Access
from rtl.interface.layouts import IssueAck, TileUpdates
from rtl.parameters import T3Parameters

P = T3Parameters(contexts=2)


def issue_ack(tile, atom=0):
    """Return a tile: owner, dispatch index and wavefront."""
    owner, dispatch_index, wavefront = tile
    return {
        "access": Access.UPDATE,
        "owner": owner,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "atom": atom,
    }


def drive(steps, *, depth, accepted=None):
    """Play ``(offered issue_ack or None, whether the output is taken)`` cycle by cycle.

    Checks every cycle against a list of events. ``accepted`` gets the ``(tile, atom)`` that the
    queue took.

    Returns
    -------
    list
        Return ``(cycle, tile, count, atom)`` of each event that left.
    """
    dut = IssueAckQueue(P, depth=depth)
    left = []

    async def bench(ctx):
        waiting = []  # [tile, count, atom]
        for cycle, (offered, taken) in enumerate(steps):
            ctx.set(dut.i.valid, offered is not None)
            # Payloads that are not valid must not matter.
            ctx.set(dut.i.p, offered or issue_ack((waiting or [[(0, 0, 0)]])[-1][0]))
            ctx.set(dut.o.ready, taken)
            ready = len(waiting) < depth
            assert ctx.get(dut.i.ready) == ready, cycle
            assert ctx.get(dut.o.valid) == bool(waiting), cycle
            behind = waiting[1:]
            if waiting:
                out = ctx.get(dut.o.p)
                tile = out.owner, out.dispatch_index, out.wavefront
                assert [tile, out.count, out.atom] == waiting[0], cycle
                if taken:
                    left.append((cycle, *waiting.pop(0)))
            if offered and ready:
                tile = tuple(offered[name] for name in ("owner", "dispatch_index", "wavefront"))
                atom = offered["atom"]
                if accepted is not None:
                    accepted.append((tile, atom))
                partner = next((e for e in behind if e[0] == tile and e[1] < 15), None)
                if partner:
                    partner[1:] = partner[1] + 1, min(partner[2], atom)
                else:
                    waiting.append([tile, 1, atom])
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return left


@pytest.mark.parametrize(
    ("depth", "error", "message"),
    [(1, ValueError, "at least 2, not 1"), ("4", TypeError, "an integer, not '4'")],
)
def test_wrong_depth(depth, error, message):
    with pytest.raises(error, match=f"Depth must be {message}"):
        IssueAckQueue(P, depth=depth)


def test_payloads():
    dut = IssueAckQueue(P, depth=4)
    assert dut.i.p.shape() == IssueAck(P)
    assert dut.o.p.shape() == TileUpdates(P)


def test_nothing_is_merged_while_the_tracker_keeps_up():
    steps = [(issue_ack((0, 4, 1), atom), True) for atom in range(20)] + [(None, True)]
    left = drive(steps, depth=4)
    assert left == [(cycle + 1, (0, 4, 1), 1, cycle) for cycle in range(20)]


def test_the_head_stays_as_it_is():
    a, b = (0, 4, 1), (0, 4, 2)
    steps = [(issue_ack(a, 9), False), (issue_ack(a, 5), False), (issue_ack(b, 3), False)]
    steps += [(issue_ack(a, 7), False), (issue_ack(b, 4), False), *[(None, True)] * 4]
    assert drive(steps, depth=4) == [(5, a, 1, 9), (6, a, 2, 5), (7, b, 2, 3)]


def test_what_moves_up_to_the_head_is_still_joined():
    a, b = (1, 4, 1), (0, 4, 1)
    steps = [(issue_ack(a, 9), False), (issue_ack(b, 8), False), (issue_ack(b, 6), True)]
    # The head that leaves is not joined.
    steps += [(issue_ack(b, 2), True), (None, True), (None, True)]
    assert drive(steps, depth=4) == [(2, a, 1, 9), (3, b, 2, 6), (4, b, 1, 2)]


def test_a_full_count_takes_no_more():
    steps = [(issue_ack((1, 4, 1), 100 - atom), False) for atom in range(40)] + [(None, True)] * 5
    counts = [(count, atom) for _, _, count, atom in drive(steps, depth=8)]
    assert counts == [(1, 100), (15, 85), (15, 70), (9, 61)]


def test_a_full_queue_takes_nothing_whatever_the_tile():
    steps = [
        (issue_ack((0, dispatch_index, 0), dispatch_index), False) for dispatch_index in range(2)
    ]
    steps += [(issue_ack((0, 1, 0), 0), False)] * 3 + [(None, True)] * 3
    assert [count for _, _, count, _ in drive(steps, depth=2)] == [1, 1]


_QUICK = {(2, 1), (3, 4), (4, 12), (8, 21)}


@pytest.mark.parametrize(
    ("depth", "tiles"),
    [
        pytest.param(*run, marks=() if run in _QUICK else pytest.mark.verify)
        for run in product((2, 3, 4, 8), (1, 4, 12, 21))
    ],
)
def test_random(depth, tiles):
    seed = 100 * depth + tiles
    print("seed", seed)
    rng = random.Random(seed)
    # Each differs from the first in a single bit, of the owner, the dispatch index, or wavefront.
    first = rng.randrange(2), rng.getrandbits(P.dispatch_index_bits), rng.randrange(8)
    bits = [
        (field, bit)
        for field, count in enumerate((1, P.dispatch_index_bits, 3))
        for bit in range(count)
    ]
    others = [
        tuple(value ^ (1 << bit if index == field else 0) for index, value in enumerate(first))
        for field, bit in rng.sample(bits, len(bits))
    ]
    pool = [first, *others][:tiles]
    steps = []
    for cycle in range(1500):
        offered = issue_ack(rng.choice(pool), rng.randrange(1 << P.atom_address_bits))
        takes = rng.random() < (0.03, 0.3, 0.9)[cycle // 100 % 3]
        steps.append((offered if rng.random() < 0.8 else None, takes))
    accepted = []
    left = drive([*steps, *[(None, True)] * 10], depth=depth, accepted=accepted)
    for tile in pool:
        atoms = [atom for other, atom in accepted if other == tile]
        assert sum(count for _, other, count, _ in left if other == tile) == len(atoms)
        assert min(atom for _, other, _, atom in left if other == tile) == min(atoms)
    if depth > 2 and tiles < 21:
        assert max(count for _, _, count, _ in left) > 1
