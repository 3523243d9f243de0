"""Turns of the contexts at the link: a run of packets each."""

from itertools import groupby

import pytest
from amaranth.sim import Simulator

from rtl.channel.link_merge import LinkMerge
from rtl.parameters import T3Parameters
from tb.golden import peer

RUN = 8


@pytest.mark.parametrize("contexts", [2, 3])
@pytest.mark.parametrize("first", [0, 3])
def test_packets_of_a_context_leave_in_runs(contexts, first):
    """Each context sends atoms that follow each other: a turn of at least eight atoms ends with a
    block, so that a frame of the link can carry it, and every other context then has its turn."""
    left = send(contexts, cycles=40 * contexts, first=first)
    owners = [(owner, len(list(run))) for owner, run in groupby(owner for owner, _ in left)]
    assert owners[:contexts] == [
        (owner, 2 * RUN - first if first else RUN) for owner in range(contexts)
    ]
    assert owners[contexts:-1] == [
        (number % contexts, RUN) for number in range(len(owners) - contexts - 1)
    ]
    for context in range(contexts):
        atoms = [atom for owner, atom in left if owner == context]
        assert atoms == list(range(first, first + len(atoms)))


@pytest.mark.parametrize(("first", "turn"), [(0, 2 * RUN - 1), (RUN - 1, RUN)])
def test_a_turn_ends_whatever_the_atoms_are(first, turn):
    """No context keeps the others from the link, nor loses its turn, by the places of its atoms."""
    left = send(2, cycles=10 * turn, first=first, step=2 * RUN)
    assert [len(list(run)) for _, run in groupby(owner for owner, _ in left)] == [turn] * 10


def test_a_context_without_packets_gives_its_turn_away():
    """Context 0 offers a packet every third cycle; context 1 has the link meanwhile."""
    left = send(2, cycles=60, pauses={0: 3})
    counts = [sum(owner == context for owner, _ in left) for context in range(2)]
    assert len(left) == 60 and 60 / 9 < counts[0] <= 20


def send(contexts, *, cycles, first=0, step=1, pauses=None):
    """Offer atoms of every context in every cycle; return the owner and the atom of each packet
    that leaves."""
    p = T3Parameters(contexts=contexts)
    dut, left = LinkMerge(p), []
    one = peer(gpu=1, space=0, rank=0, enable=1, sends_stores=1, sends_updates=1)
    names = ("enable", "gpu", "space", "sends_stores", "sends_updates")

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        atoms = [first] * contexts
        for context in range(contexts):
            ctx.set(dut.space[context], 1)
            for name in names:
                ctx.set(getattr(dut.tables[context].peers[0], name), one[name])
        for cycle in range(cycles):
            for context, atom in enumerate(atoms):
                ctx.set(dut.sends[context].valid, cycle % (pauses or {}).get(context, 1) == 0)
                ctx.set(dut.sends[context].p.atom, atom)
                ctx.set(dut.sends[context].p.peers, 1)
            if ctx.get(dut.o.valid):
                sent = ctx.get(dut.o.p)
                left.append((sent.owner, sent.packet.atom))
                atoms[sent.owner] += step
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return left
