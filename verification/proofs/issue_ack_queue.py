"""Proof of the issue acknowledgement queue: merging neither loses updates nor counts them twice."""

from functools import partial

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from rtl.channel.issue_ack_queue import IssueAckQueue
from rtl.parameters import T3Parameters

from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_TILE = ("owner", "dispatch_index", "wavefront")


class IssueAckQueueHarness(Elaboratable):
    """Harness that counts the queued updates of one arbitrary tile.

    ``least`` is an arbitrary atom: while no issue acknowledgement of the tile has a smaller atom,
    no event may have one.
    """

    def __init__(self, queue: type = IssueAckQueue, *, depth: int, p: T3Parameters):
        self._queue = queue
        self._depth = depth
        self._p = p

    def elaborate(self, platform):
        m = Module()
        depth = self._depth
        m.submodules.dut = dut = self._queue(self._p, depth=depth)
        entries, valid = dut.entries, dut.valid
        issue_ack, event = dut.i.p, dut.o.p
        most = (1 << len(event.count)) - 1
        free(m, dut.i.valid, issue_ack, dut.o.ready)

        tile = [Signal.like(issue_ack[name], name=name) for name in _TILE]
        least = Signal.like(issue_ack.atom)
        m.d.comb += [one.eq(AnyConst(len(one))) for one in (*tile, least)]

        def of_tile(payload):
            return Cat(payload[name] for name in _TILE) == Cat(tile)

        put, take = Signal(), Signal()
        put_tile, take_tile = Signal(), Signal()
        below = Signal()
        held = Signal(range(depth * most + 1))
        m.d.comb += [
            put.eq(moves(dut.i)),
            take.eq(moves(dut.o)),
            put_tile.eq(put & of_tile(issue_ack)),
            take_tile.eq(take & of_tile(event)),
        ]
        m.d.sync += [
            held.eq(held + put_tile - Mux(take_tile, event.count, 0)),
            below.eq(below | (put_tile & (issue_ack.atom < least))),
        ]
        # Entries of the tile behind the head that can still merge an update.
        joined = Signal(depth)
        for index in range(1, depth):
            space = entries[index].count != most
            m.d.comb += joined[index].eq(valid[index] & of_tile(entries[index]) & space)
        m.d.comb += [
            Assert(dut.o.valid | (held == 0), "no event is offered, although updates are queued"),
            Assert(~dut.o.valid | (event.count != 0), "an event without an update"),
            Assert(~take_tile | (event.count <= held), "more updates leave than entered"),
            Assert(
                below | ~(dut.o.valid & of_tile(event)) | (event.atom >= least),
                "an atom below those of all issue acknowledgements",
            ),
            Cover(put_tile & joined.any(), "an update merges into an event"),
            Cover(take_tile & (event.count == 3), "an event of three updates"),
            Cover(~dut.i.ready, "full"),
            Cover(below & dut.o.valid & of_tile(event) & (event.atom < least), "a smaller atom"),
        ]
        assert_held(m, dut.o, "o")

        # Summed from the last entry on, so that the sum without the head is a partial sum.
        of_one = Const(0, len(held))
        for index in reversed(range(depth)):
            counted = valid[index] & of_tile(entries[index])
            sum_here = Signal.like(held, name=f"sum_{index}")
            m.d.comb += sum_here.eq(Mux(counted, entries[index].count, 0) + of_one)
            of_one = sum_here
        m.d.comb += [
            invariant((valid & (valid + 1)) == 0, "a hole between the events"),
            invariant(of_one == held, "the sum of the tile's counts differs"),
            invariant(
                (joined & (joined - 1)) == 0, "an issue acknowledgement could merge into two events"
            ),
        ]
        for index in range(depth):
            entry = entries[index]
            m.d.comb += [
                invariant(~valid[index] | (entry.count != 0), f"event {index} has no update"),
                invariant(
                    below | ~(valid[index] & of_tile(entry)) | (entry.atom >= least),
                    f"event {index}: an atom below those of all issue acknowledgements",
                ),
            ]
        return m


def _proof(p: T3Parameters, depth: int, geometry: str, reason: str, solver: str) -> Proof:
    return Proof(
        name=f"issue-ack-queue-{depth}" + ("" if p.contexts == 1 else f"-contexts-{p.contexts}"),
        statement="As many updates of a tile leave as entered: none is lost or counted twice; no "
        "event has a smaller atom than all issue acknowledgements of its tile; an offer stays "
        "until it is taken",
        blocks=(IssueAckQueue,),
        harness=partial(IssueAckQueueHarness, depth=depth, p=p),
        geometry=geometry,
        reason=reason,
        depth=1,
        cover_depth=depth + 4,
        solver=solver,
        slow=True,
    )


PROOFS = (
    _proof(
        T3Parameters(contexts=1),
        4,
        "depth 4, tiles and atoms of the reference",
        "the channel's depth of 8 with the reference's atoms takes four minutes; issue-ack-queue-8 "
        "has that depth",
        "z3",
    ),
    _proof(
        T3Parameters(contexts=1, tile_atom_bits=2, share_bits=2, address_bits=11),
        8,
        "depth 8, tiles of the reference, atoms of 3 bits",
        "atoms are only compared with each other; issue-ack-queue-4 has their full width",
        "yices",
    ),
    _proof(
        T3Parameters(
            contexts=2,
            tile_atom_bits=2,
            share_bits=2,
            address_bits=11,
            workgroup_bits=2,
            wavefronts=2,
            credit_window=4,
            sets=2,
        ),
        4,
        "depth 4, 2 contexts, 4 dispatch indices, 2 wavefronts, atoms of 3 bits",
        "tiles and atoms are only compared with each other; the others have their full width",
        "yices",
    ),
)
