"""Proof of the link endpoint: in-order, exactly-once delivery over an unreliable link."""

from types import SimpleNamespace

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.link.layouts import Stored
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
    """Distance from the first number to the second."""
    return (second - first)[: _LINK.sequence_bits]


def _row(first: Signal, behind) -> Value:
    """Row at a distance from another, modulo the number of rows."""
    row = first + behind
    return Mux(row >= _LINK.replay_depth, row - _LINK.replay_depth, row)


class LinkHarness(Elaboratable):
    """Harness of a sender, a receiver and the worst possible link: one direction of packets.

    In every cycle, the link delivers any flit or none. A frame is intact only if it begins with a
    first flit, and each of its flits was ever sent; this includes loss, repetition, delay and
    reordering, and frames that the sender made otherwise. In the other direction the link delivers
    any acknowledgement and any limit that the receiver ever sent, or none. Excluded are flits that
    the sequence numbers cannot distinguish: 16 packets behind the newest sent one; acknowledgements
    more than 9 packets old, and limits more than 8.

    Packets are numbered modulo 16, as in the blocks; compared numbers lie closer together. The
    harness observes one arbitrary packet with its contents; the other contents are arbitrary.
    """

    def __init__(self, sender: type = LinkSender, receiver: type = LinkReceiver):
        self._sender, self._receiver = sender, receiver

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self._sender(_PACKET_BITS, _LINK)
        m.submodules.receiver = receiver = self._receiver(_PACKET_BITS, _LINK)
        free(m, sender.packets.valid, sender.packets.p, sender.o.ready, sender.advance)
        free(m, receiver.leave, receiver.o.ready)
        ghost = self._ghosts(m, sender, receiver)
        self._link_forth(m, sender, receiver, ghost)
        self._assert_frames(m, sender)
        self._link_back(m, sender, receiver, ghost)
        self._assert_delivery(m, sender, receiver, ghost)
        self._assert_order_of_numbers(m, sender, receiver, ghost)
        self._assert_decision(m, sender, ghost)
        self._assert_more(m, sender, receiver, ghost)
        return m

    def _assert_more(self, m: Module, sender, receiver, ghost) -> None:
        assert_held(m, sender.o, "o")

    def _ghosts(self, m: Module, sender, receiver) -> SimpleNamespace:
        """Count packets (accepted, first sent, delivered, taken) and observe one of them."""
        ghost = SimpleNamespace(
            put=_number("put"),
            sent=_number("sent"),
            delivered=_number("delivered"),
            left=_number("left"),
            follows=Signal(name="follows"),
            followed=_number("followed"),
            row=Signal(range(_LINK.replay_depth), name="followed_row"),
            payload=Signal(Stored(_PACKET_BITS), name="payload"),
            followed_is_sent=Signal(name="followed_is_sent"),
            pending=_number("pending"),
            before=_number("before"),
            counts=_number("counts"),
            takes=Signal(name="takes"),
            has_followed=Signal(name="has_followed"),
            followed_is_right=Signal(name="followed_is_right"),
        )
        new = sender.send & (sender.upcoming == ghost.sent)
        m.d.sync += [
            ghost.put.eq(ghost.put + moves(sender.packets)),
            ghost.sent.eq(ghost.sent + new),
            ghost.delivered.eq(ghost.delivered + Mux(receiver.commit, ghost.counts, 0)),
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
        with m.Elif(receiver.commit & ghost.has_followed):
            m.d.sync += ghost.follows.eq(0)
        with m.If(receiver.i.valid):
            m.d.sync += ghost.pending.eq(Mux(receiver.commit, 0, ghost.counts))
        m.d.comb += [
            # Packets of the frame that were taken before this cycle, and by its end.
            ghost.before.eq(Mux(receiver.i.p.first, 0, ghost.pending)),
            ghost.takes.eq(receiver.o.valid & receiver.o.ready),
            ghost.counts.eq(ghost.before + ghost.takes),
            ghost.has_followed.eq(
                ghost.follows & (_from(ghost.delivered, ghost.followed) < ghost.counts)
            ),
            # There is space up to the limit.
            Assume(
                receiver.o.ready
                | (_from(ghost.left, ghost.delivered) + ghost.before >= _LINK.receive_depth)
            ),
            # Only delivered packets can leave.
            Assume(~receiver.leave | (ghost.left != ghost.delivered)),
            ghost.followed_is_sent.eq(
                ghost.follows
                & (_from(ghost.delivered, ghost.followed) < _from(ghost.delivered, ghost.sent))
            ),
        ]
        return ghost

    def _link_forth(self, m: Module, sender, receiver, ghost) -> None:
        """Assume flits of the sender on the link, and assert that the sender sends them."""
        flit, numbered = receiver.i.p, sender.o.p
        free(m, receiver.i.valid, flit)
        valid, of_followed = receiver.i.valid, Signal()
        leaves = Signal()
        ghost.genuine, is_genuine = Signal(name="genuine"), Signal(name="is_genuine")
        last_number, had_data = _number("last_number"), Signal(name="had_data")
        ghost.right_now = Signal(name="right_now")
        m.d.comb += [
            ghost.right_now.eq(AnySeq(1)),
            is_genuine.eq(ghost.right_now & (flit.first | ghost.genuine)),
            of_followed.eq(ghost.followed_is_sent & (flit.body.sequence == ghost.followed)),
            # Every flit of an intact frame was sent.
            Assume(~(valid & flit.last & ~flit.corrupt) | is_genuine),
            Assume(
                ~(valid & ghost.right_now & flit.body.data)
                | (flit.body.sequence != ghost.sent)
                & (~of_followed | (flit.body.packet == ghost.payload.item))
            ),
            # A further flit has the next number, and the header of its frame.
            Assume(~valid | flit.first | (flit.body.sequence == (last_number + 1)[:4])),
            Assume(~valid | flit.first | (flit.body.data == had_data)),
            leaves.eq(sender.o.valid),
            Assert(
                ~leaves | (_from(numbered.sequence, ghost.sent) - 1 < _LINK.replay_depth),
                "a flit has the number of no packet, or of an acknowledged one",
            ),
            Assert(
                ~(leaves & ghost.followed_is_sent & (numbered.sequence == ghost.followed))
                | (
                    (numbered.item == ghost.payload.item)
                    & (numbered.first | ghost.payload.continues)
                ),
                "a packet leaves with the number or the mark of another one",
            ),
        ]
        with m.If(valid):
            m.d.sync += [
                ghost.genuine.eq(is_genuine & ~flit.last),
                last_number.eq(flit.body.sequence),
                had_data.eq(flit.body.data),
            ]
        with m.If(ghost.takes & (flit.body.sequence == ghost.followed)):
            m.d.sync += ghost.followed_is_right.eq(receiver.o.p == ghost.payload.item)
        m.d.comb += [
            invariant(
                ~ghost.genuine | (ghost.pending <= _from(ghost.delivered, ghost.sent)),
                "a packet is taken that was not sent",
            ),
            invariant(
                ~(ghost.genuine & ghost.follows)
                | (_from(ghost.delivered, ghost.followed) >= ghost.pending)
                | ghost.followed_is_right,
                "a packet of the frame changes",
            ),
        ]

    def _assert_frames(self, m: Module, sender) -> None:
        """Assert that a packet without a header goes behind the one before it, in its frame."""
        o = sender.o
        last_read, last_taken, is_open = _number("last_read"), _number("last_taken"), Signal()
        with m.If(sender.send):
            m.d.sync += last_read.eq(sender.upcoming)
        with m.If(moves(o)):
            m.d.sync += last_taken.eq(o.p.sequence)
        with m.If(sender.advance):
            m.d.sync += is_open.eq(moves(o))
        joins = o.valid & ~o.p.first
        m.d.comb += [
            Assume(~o.ready | sender.advance),
            Assume(~(joins & sender.advance) | o.ready),  # a frame keeps its turn
            Assert(
                ~joins | (is_open & (o.p.sequence == (last_taken + 1)[:4])),
                "a packet without a header has another number than the next one",
            ),
            Cover(joins & moves(o) & (sender.limit == (o.p.sequence + 1)[:4]), "ends at the limit"),
            invariant(sender.joins == is_open, "open frame"),
            invariant(
                ~sender.straight | (sender.upcoming == (last_read + 1)[:4]),
                "the upcoming packet does not follow the last one",
            ),
            invariant(~o.valid | (o.p.sequence == last_read), "the packet at the output"),
            invariant(o.valid | ~is_open | (last_taken == last_read), "the last packet"),
            invariant(
                ~(o.valid & sender.follows & is_open) | (o.p.sequence == (last_taken + 1)[:4]),
                "the packet that follows",
            ),
        ]

    def _link_back(self, m: Module, sender, receiver, ghost) -> None:
        reverse, state = sender.reverse, receiver.state
        free(m, reverse.valid, reverse.p)
        # State of the receiver at the arrival of the sender's last information.
        ghost.then = SimpleNamespace(acknowledge=_number("acknowledge"), limit=_number("limit"))
        with m.If(reverse.valid):
            m.d.sync += [
                ghost.then.acknowledge.eq(state.acknowledge),
                ghost.then.limit.eq(state.limit),
            ]
        age = _from(reverse.p.acknowledge, state.acknowledge)
        m.d.comb += [
            Assume(~reverse.valid | (age <= _OLDEST_ACKNOWLEDGE)),
            Assume(~reverse.valid | (_from(reverse.p.limit, state.limit) <= _OLDEST_LIMIT)),
        ]

    def _assert_delivery(self, m: Module, sender, receiver, ghost) -> None:
        o, commits = receiver.o, receiver.commit
        held = _from(ghost.left, ghost.delivered)
        is_followed = commits & ghost.has_followed
        is_right = Mux(
            ghost.takes & (receiver.i.p.body.sequence == ghost.followed),
            o.p == ghost.payload.item,
            ghost.followed_is_right,
        )
        replayed = Signal()
        m.d.sync += replayed.eq(replayed | (sender.replay & ghost.followed_is_sent))
        m.d.comb += [
            Assert(
                ~commits | (ghost.counts <= _from(ghost.delivered, ghost.put)),
                "a packet is delivered twice",
            ),
            Assert(~is_followed | is_right, "a packet changes or is out of order"),
            Assert(
                ~commits | (held + ghost.counts <= _LINK.receive_depth), "delivered without space"
            ),
            Cover(commits & (ghost.counts == 3), "three packets in a frame"),
            Cover(
                commits
                & (ghost.counts == 2)
                & (receiver.i.p.body.sequence == 4)
                & (held == 2)
                & ~receiver.i.p.first,
                "the end of a frame is new",
            ),
            Cover(is_followed & replayed, "delivered after a replay"),
            Cover(ghost.delivered == _LINK.replay_depth + 1, "a row is used again"),
            Cover(~sender.packets.ready, "the replay memory is full"),
            Cover((held == _LINK.receive_depth) & (sender.kept != 0), "no credit"),
            Cover(sender.accept & (sender.distance > sender.ahead), "acknowledged during a replay"),
            Cover(receiver.i.valid & receiver.i.p.corrupt, "a corrupt flit"),
        ]

    def _assert_order_of_numbers(self, m: Module, sender, receiver, ghost) -> None:
        """Assert base <= upcoming <= sent <= put, base <= delivered <= sent, and the limits."""
        base, left = sender.base, ghost.left
        entries = [half.memory.read_port(domain="comb") for half in sender.replay_memory.halves]
        m.d.comb += [entry.addr.eq(ghost.row[1:]) for entry in entries]
        kept = Mux(ghost.row[0], entries[1].data, entries[0].data)
        for holds, message in (
            (sender.head == ghost.put, "head"),
            (sender.kept == _from(base, ghost.put), "kept"),
            (sender.kept <= _LINK.replay_depth, "replay memory: overflow"),
            (_from(base, sender.upcoming) <= _from(base, ghost.sent), "upcoming"),
            (_from(base, ghost.sent) <= sender.kept, "sent"),
            (_from(base, ghost.delivered) <= _from(base, ghost.sent), "delivered"),
            (receiver.state.acknowledge == ghost.delivered, "acknowledge"),
            (receiver.upcoming == (ghost.delivered + ghost.pending)[:4], "upcoming of the frame"),
            (receiver.state.limit == (left + _LINK.receive_depth)[:4], "limit"),
            (_from(left, ghost.delivered) <= _from(left, ghost.sent), "left"),
            (_from(left, ghost.sent) <= _from(left, sender.limit), "sent beyond the limit"),
            (_from(left, sender.limit) <= _LINK.receive_depth, "the sender's limit"),
            (
                ~ghost.follows
                | (_from(ghost.delivered, ghost.followed) < _from(ghost.delivered, ghost.put)),
                "the observed packet is not in flight",
            ),
            (
                ~ghost.follows | (kept == ghost.payload.as_value()),
                "the observed packet is not stored",
            ),
            (sender.base_row < _LINK.replay_depth, "base row out of range"),
            (sender.head_row == _row(sender.base_row, sender.kept), "row of the head"),
            (
                sender.upcoming_row == _row(sender.base_row, _from(base, sender.upcoming)),
                "row of the upcoming packet",
            ),
            (
                ~ghost.follows | (ghost.row == _row(sender.base_row, _from(base, ghost.followed))),
                "row of the observed packet",
            ),
        ):
            m.d.comb += invariant(holds, message)

    def _assert_decision(self, m: Module, sender, ghost) -> None:
        """Assert that the sender's information and decisions are outdated or right, never wrong."""
        base, limit, then = sender.base, sender.limit, ghost.then
        new_acknowledge = _from(base, then.acknowledge)
        new_limit = _from(limit, then.limit)
        for holds, message in (
            (new_acknowledge <= _from(base, ghost.delivered), "known acknowledgement"),
            (new_limit <= _from(limit, ghost.left + _LINK.receive_depth), "known limit"),
            (
                _from(sender.last_reverse.acknowledge, then.acknowledge) <= _OLDEST_ACKNOWLEDGE,
                "acknowledgement too old",
            ),
            (_from(sender.last_reverse.limit, then.limit) <= _OLDEST_LIMIT, "limit too old"),
        ):
            m.d.comb += invariant(holds, message)
        with m.If(sender.decides):
            reported_limit = _from(limit, sender.candidate.limit)
            for holds, message in (
                (sender.distance == _from(base, sender.candidate.acknowledge), "distance"),
                (
                    (sender.distance <= new_acknowledge) | (sender.distance > _LINK.replay_depth),
                    "wrong acknowledgement",
                ),
                (_from(base, sender.upcoming) - sender.ahead <= 1, "ahead"),
                (_from(base, sender.upcoming) >= sender.ahead, "behind"),
                (sender.behind == reported_limit[_LINK.sequence_bits - 1], "old limit"),
                (sender.behind | (reported_limit <= new_limit), "wrong limit"),
            ):
                m.d.comb += invariant(holds, message)


class LinkProgressHarness(LinkHarness):
    """Harness of a link that works at times and then delivers every flit at once.

    Whatever happened before, the next packet is delivered after the link has worked for some
    cycles.
    """

    def _assert_more(self, m: Module, sender, receiver, ghost) -> None:
        works = Signal()
        waited = Signal(range(_MOST_CYCLES + 2))
        flit, numbered, reverse = receiver.i.p, sender.o.p, sender.reverse
        m.d.comb += [
            works.eq(AnySeq(1)),
            Assert(waited <= _MOST_CYCLES, "no packet is delivered although the link works"),
            Cover(waited > _LINK.timeout_cycles, "delivered after the timeout"),
        ]
        with m.If(works):
            m.d.comb += [
                Assume(sender.o.ready),
                Assume(receiver.i.valid & ~flit.corrupt & flit.first & flit.last),
                Assume(flit.body.data == sender.o.valid),
                Assume(flit.body.sequence == numbered.sequence),
                Assume(reverse.valid & (reverse.p == receiver.state)),
                Assume(receiver.leave == (ghost.left != ghost.delivered)),
            ]
        with m.If(works & ~receiver.commit & (ghost.delivered != ghost.put)):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)


PROOFS = (
    Proof(
        name="link-endpoint",
        statement="Every packet is delivered once, in order and unchanged, and only into free "
        "space, over a link that loses, repeats, corrupts, delays and reorders flits in both "
        "directions",
        blocks=(LinkSender, LinkReceiver),
        harness=LinkHarness,
        geometry="6 replay rows, space for 4 packets, 16 numbers, packets of 2 bits",
        reason="numbers are only compared modulo their range, so a larger range has no other "
        "cases; the proof assumes that check bits detect a corrupt flit",
        depth=2,
        cover_depth=20,
    ),
    Proof(
        name="link-endpoint-progress",
        statement="After any faults, a link that works again delivers the next packet within 8 "
        "cycles, including a timeout of 4 cycles",
        blocks=(LinkSender, LinkReceiver),
        harness=LinkProgressHarness,
        geometry="6 replay rows, space for 4 packets, 16 numbers, packets of 2 bits, a timeout of "
        "4 cycles",
        reason="numbers are only compared modulo their range, so a larger range has no other "
        "cases; a longer timeout adds its cycles",
        depth=_MOST_CYCLES + 2,
        cover_depth=24,
        slow=True,
    ),
)
