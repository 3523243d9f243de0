"""Link endpoint: every packet is delivered once and in order, over a link that does not."""

from types import SimpleNamespace

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.link.parameters import LinkParameters
from rtl.link.receiver import LinkReceiver
from rtl.link.sender import LinkSender

from .invariant import invariant
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_LINK = LinkParameters(
    replay_depth=6,
    receive_depth=4,
    sequence_bits=4,
    timeout_cycles=4,
    idle_cycles=2,
    down_cycles=16,
    lifetime_cycles=4,
)
_NUMBERS = 1 << _LINK.sequence_bits
_OLDEST_ACKNOWLEDGE = _NUMBERS - _LINK.replay_depth - 1
_OLDEST_LIMIT = _NUMBERS // 2
_PACKET_BITS = 2
_MOST_CYCLES = 8


def _number(name: str) -> Signal:
    return Signal(_LINK.sequence_bits, name=name)


def _from(first, second) -> Value:
    """How far the second number lies behind the first."""
    return (second - first)[: _LINK.sequence_bits]


def _row(first: Signal, behind) -> Value:
    """The row so many rows behind one, not more than there are."""
    row = first + behind
    return Mux(row >= _LINK.replay_depth, row - _LINK.replay_depth, row)


class LinkHarness(Elaboratable):
    """A sender, a receiver and the worst link between them: one direction of packets.

    Forth, the link gives in every cycle any flit that was ever sent, or a corrupt one, or none:
    what is lost, repeated, late and out of order is all in that. Back, it gives any acknowledgement
    and any limit that the receiver ever told, or none. What is left out is older than numbers can
    tell: a flit 16 packets behind the newest sent, an acknowledgement more than 9 packets old, a
    limit more than 8.

    Numbers of packets are counted modulo 16, as the blocks do: those that are compared lie closer
    together. One packet, whichever, is followed with its contents; the others' may be anything.
    """

    def __init__(self, sender: type = LinkSender, receiver: type = LinkReceiver):
        self._sender, self._receiver = sender, receiver

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self._sender(_PACKET_BITS, _LINK)
        m.submodules.receiver = receiver = self._receiver(_PACKET_BITS, _LINK)
        free(m, sender.packets.valid, sender.packets.p, sender.o.ready, receiver.leave)
        ghost = self._ghosts(m, sender, receiver)
        self._link_forth(m, sender, receiver, ghost)
        self._link_back(m, sender, receiver, ghost)
        self._assert_delivery(m, sender, receiver, ghost)
        self._assert_order_of_numbers(m, sender, receiver, ghost)
        self._assert_decision(m, sender, ghost)
        self._assert_more(m, sender, receiver, ghost)
        return m

    def _assert_more(self, m: Module, sender, receiver, ghost) -> None:
        assert_held(m, sender.o, "o")

    def _ghosts(self, m: Module, sender, receiver) -> SimpleNamespace:
        """Packets put, sent for the first time, delivered, gone; and the followed one."""
        ghost = SimpleNamespace(
            put=_number("put"),
            sent=_number("sent"),
            delivered=_number("delivered"),
            left=_number("left"),
            follows=Signal(name="follows"),
            followed=_number("followed"),
            row=Signal(range(_LINK.replay_depth), name="followed_row"),
            payload=Signal(_PACKET_BITS, name="payload"),
            followed_is_sent=Signal(name="followed_is_sent"),
        )
        new = sender.send & (sender.upcoming == ghost.sent)
        m.d.sync += [
            ghost.put.eq(ghost.put + moves(sender.packets)),
            ghost.sent.eq(ghost.sent + new),
            ghost.delivered.eq(ghost.delivered + receiver.o.valid),
            ghost.left.eq(ghost.left + receiver.leave),
        ]
        with m.If(~ghost.follows):
            with m.If(AnySeq(1) & moves(sender.packets)):
                m.d.sync += [
                    ghost.follows.eq(1),
                    ghost.followed.eq(ghost.put),
                    ghost.row.eq(sender.head_row),
                    ghost.payload.eq(sender.packets.p),
                ]
        with m.Elif(receiver.o.valid & (ghost.delivered == ghost.followed)):
            m.d.sync += ghost.follows.eq(0)
        m.d.comb += [
            # Only what was delivered can leave.
            Assume(~receiver.leave | (ghost.left != ghost.delivered)),
            ghost.followed_is_sent.eq(
                ghost.follows
                & (_from(ghost.delivered, ghost.followed) < _from(ghost.delivered, ghost.sent))
            ),
        ]
        return ghost

    def _link_forth(self, m: Module, sender, receiver, ghost) -> None:
        """What leaves the sender is what the link is assumed to carry."""
        flit, numbered = receiver.i.p, sender.o.p
        free(m, receiver.i.valid, flit)
        arrives, of_followed = Signal(), Signal()
        leaves = Signal()
        m.d.comb += [
            arrives.eq(receiver.i.valid & ~flit.corrupt & flit.body.data),
            of_followed.eq(ghost.followed_is_sent & (flit.body.sequence == ghost.followed)),
            Assume(~arrives | (flit.body.sequence != ghost.sent)),
            Assume(~(arrives & of_followed) | (flit.body.packet == ghost.payload)),
            leaves.eq(sender.o.valid),
            Assert(
                ~leaves | (_from(numbered.sequence, ghost.sent) - 1 < _LINK.replay_depth),
                "a number leaves that no packet has, or that of one long gone",
            ),
            Assert(
                ~(leaves & ghost.followed_is_sent & (numbered.sequence == ghost.followed))
                | (numbered.packet == ghost.payload),
                "a packet leaves under another one's number",
            ),
        ]

    def _link_back(self, m: Module, sender, receiver, ghost) -> None:
        told, state = sender.reverse, receiver.state
        free(m, told.valid, told.p)
        # What the receiver's numbers were when that arrived which the sender knows.
        ghost.then = SimpleNamespace(acknowledge=_number("acknowledge"), limit=_number("limit"))
        with m.If(told.valid):
            m.d.sync += [
                ghost.then.acknowledge.eq(state.acknowledge),
                ghost.then.limit.eq(state.limit),
            ]
        age = _from(told.p.acknowledge, state.acknowledge)
        m.d.comb += [
            Assume(~told.valid | (age <= _OLDEST_ACKNOWLEDGE)),
            Assume(~told.valid | (_from(told.p.limit, state.limit) <= _OLDEST_LIMIT)),
        ]

    def _assert_delivery(self, m: Module, sender, receiver, ghost) -> None:
        o = receiver.o
        held = _from(ghost.left, ghost.delivered)
        is_followed = o.valid & ghost.follows & (ghost.delivered == ghost.followed)
        replayed = Signal()
        m.d.sync += replayed.eq(replayed | (sender.replay & ghost.followed_is_sent))
        m.d.comb += [
            Assert(~o.valid | (ghost.delivered != ghost.put), "a packet is delivered twice"),
            Assert(~is_followed | (o.p == ghost.payload), "a packet changes, or not in its turn"),
            Assert(~o.valid | (held < _LINK.receive_depth), "delivered without room"),
            Cover(is_followed & replayed, "delivered after a replay"),
            Cover(ghost.delivered == _LINK.replay_depth + 1, "a place is used again"),
            Cover(~sender.packets.ready, "all kept"),
            Cover((held == _LINK.receive_depth) & (sender.kept != 0), "no credit"),
            Cover(sender.accept & (sender.distance > sender.ahead), "acknowledged while replayed"),
            Cover(receiver.i.valid & receiver.i.p.corrupt, "corrupt"),
        ]

    def _assert_order_of_numbers(self, m: Module, sender, receiver, ghost) -> None:
        """base <= upcoming <= sent <= put, base <= delivered <= sent, and the sender's limit."""
        base, left = sender.base, ghost.left
        entries = [half.memory.read_port(domain="comb") for half in sender.replay_memory.halves]
        m.d.comb += [entry.addr.eq(ghost.row[1:]) for entry in entries]
        kept = Mux(ghost.row[0], entries[1].data, entries[0].data)
        for holds, message in (
            (sender.head == ghost.put, "head"),
            (sender.kept == _from(base, ghost.put), "kept"),
            (sender.kept <= _LINK.replay_depth, "too many kept"),
            (_from(base, sender.upcoming) <= _from(base, ghost.sent), "upcoming"),
            (_from(base, ghost.sent) <= sender.kept, "sent"),
            (_from(base, ghost.delivered) <= _from(base, ghost.sent), "delivered"),
            (receiver.state.acknowledge == ghost.delivered, "acknowledge"),
            (receiver.state.limit == (left + _LINK.receive_depth)[:4], "limit"),
            (_from(left, ghost.delivered) <= _from(left, ghost.sent), "gone"),
            (_from(left, ghost.sent) <= _from(left, sender.limit), "sent beyond the limit"),
            (_from(left, sender.limit) <= _LINK.receive_depth, "the sender's limit"),
            (
                ~ghost.follows
                | (_from(ghost.delivered, ghost.followed) < _from(ghost.delivered, ghost.put)),
                "the followed packet is not on its way",
            ),
            (~ghost.follows | (kept == ghost.payload), "the followed packet is not kept"),
            (sender.base_row < _LINK.replay_depth, "no row"),
            (sender.head_row == _row(sender.base_row, sender.kept), "row of the head"),
            (
                sender.upcoming_row == _row(sender.base_row, _from(base, sender.upcoming)),
                "row of the upcoming packet",
            ),
            (
                ~ghost.follows | (ghost.row == _row(sender.base_row, _from(base, ghost.followed))),
                "row of the followed packet",
            ),
        ):
            m.d.comb += invariant(holds, message)

    def _assert_decision(self, m: Module, sender, ghost) -> None:
        """What the sender knows is old or right, and so is what it is about to decide on."""
        base, limit, then = sender.base, sender.limit, ghost.then
        new_acknowledge = _from(base, then.acknowledge)
        new_limit = _from(limit, then.limit)
        for holds, message in (
            (new_acknowledge <= _from(base, ghost.delivered), "acknowledged then"),
            (new_limit <= _from(limit, ghost.left + _LINK.receive_depth), "limit then"),
            (
                _from(sender.told.acknowledge, then.acknowledge) <= _OLDEST_ACKNOWLEDGE,
                "acknowledgement too old",
            ),
            (_from(sender.told.limit, then.limit) <= _OLDEST_LIMIT, "limit too old"),
        ):
            m.d.comb += invariant(holds, message)
        with m.If(sender.decides):
            told_limit = _from(limit, sender.candidate.limit)
            for holds, message in (
                (sender.distance == _from(base, sender.candidate.acknowledge), "distance"),
                (
                    (sender.distance <= new_acknowledge) | (sender.distance > _LINK.replay_depth),
                    "wrong acknowledgement",
                ),
                (_from(base, sender.upcoming) - sender.ahead <= 1, "ahead"),
                (_from(base, sender.upcoming) >= sender.ahead, "behind"),
                (sender.behind == told_limit[_LINK.sequence_bits - 1], "old limit"),
                (sender.behind | (told_limit <= new_limit), "wrong limit"),
            ):
                m.d.comb += invariant(holds, message)


class LinkProgressHarness(LinkHarness):
    """The same with a link that works at times: it then gives at once what it is given.

    Whatever it did before, the next packet is delivered when it has worked for some cycles.
    """

    def _assert_more(self, m: Module, sender, receiver, ghost) -> None:
        works = Signal()
        waited = Signal(range(_MOST_CYCLES + 2))
        flit, numbered, told = receiver.i.p, sender.o.p, sender.reverse
        m.d.comb += [
            works.eq(AnySeq(1)),
            Assert(waited <= _MOST_CYCLES, "no packet is delivered although the link works"),
            Cover(waited > _LINK.timeout_cycles, "delivered after the timeout"),
        ]
        with m.If(works):
            m.d.comb += [
                Assume(sender.o.ready),
                Assume(receiver.i.valid & ~flit.corrupt),
                Assume(flit.body.data == sender.o.valid),
                Assume(flit.body.sequence == numbered.sequence),
                Assume(told.valid & (told.p == receiver.state)),
                Assume(receiver.leave == (ghost.left != ghost.delivered)),
            ]
        with m.If(works & ~receiver.o.valid & (ghost.delivered != ghost.put)):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)


PROOFS = (
    Proof(
        name="link-endpoint",
        statement="Every packet is delivered once, in order and unchanged, and only into room, "
        "over a link that loses, repeats, corrupts, delays and reorders in both directions",
        blocks=(LinkSender, LinkReceiver),
        harness=LinkHarness,
        geometry="6 packets kept, room for 4, 16 numbers, packets of 2 bits",
        reason="The numbers are compared modulo their range only, so a larger one has no other "
        "cases; that check bits tell a corrupt flit is assumed",
        depth=2,
        cover_depth=20,
    ),
    Proof(
        name="link-endpoint-progress",
        statement="After any faults, a link that works again delivers the next packet within 8 "
        "cycles, a timeout of 4 among them",
        blocks=(LinkSender, LinkReceiver),
        harness=LinkProgressHarness,
        geometry="6 packets kept, room for 4, 16 numbers, packets of 2 bits, a timeout of 4 cycles",
        reason="The numbers are compared modulo their range only, so a larger one has no other "
        "cases; a longer timeout adds its cycles",
        depth=_MOST_CYCLES + 2,
        cover_depth=24,
        slow=True,
    ),
)
