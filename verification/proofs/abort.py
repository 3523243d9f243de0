"""Proofs that an abort ends, independently of the link and of other contexts, part by part."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from rtl.channel.channel import Channel
from rtl.context.unit import ContextUnit
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank

from .channel import PARAMETERS_OF_TWO, free_ports
from .held import held, held_words
from .injection import no_injection
from .invariant import invariant
from .proof import Proof
from .streams import free, moves
from .tracker_bank_inside import relate_walk

__all__ = ["PROOFS"]

_P = PARAMETERS_OF_TWO
_SEGMENTS = 5  # cycles until a lane has no segment
_REMOTE = 2 * _P.remote_depth
_P_OF_UNIT = T3Parameters(
    contexts=1,
    system_channels=1,
    interleave_atoms=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    workgroup_bits=2,
    wavefronts=2,
    context_bits=1,
    tag_bits=1,
    regions=1,
    ranges=1,
    commands=1,
    sets=1,
    credit_window=2,
    command_depth=2,
    peers=1,
    dma_walkers=1,
    egress_slots=2,
)
_COPIES = 3  # cycles after which the page's queue holds no copy
_UNIT = 8
_P_OF_BANK = T3Parameters(
    workgroup_bits=3,
    wavefronts=2,
    contexts=2,
    sets=2,
    ways=2,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
)
_WALK = _P_OF_BANK.sets + 3  # cycles of a walk, including the cycle before it
_BANK = 2 * _WALK + 4


class ChannelHarness(Elaboratable):
    """Harness of a channel with aborting contexts; a link may be blocked forever.

    Aborts may last arbitrarily long, and all other inputs are arbitrary. The engine of an aborting
    context gives no segment (proofs dma-engine and abort-unit).
    """

    def __init__(self, channel: type = Channel):
        self._channel = channel

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._channel(_P)
        free_ports(m, dut)
        free(m, dut.dram.ready, dut.link_out.ready, dut.arbiter, dut.contexts)
        for lane in dut.segments:
            free(m, lane.valid, lane.p)
        inbound = held(m, dut.queues.inbound, "inbound")
        for index, entry in enumerate(inbound.entries):
            location = entry.location
            m.d.comb += invariant(
                ~inbound.has(index) | ~location.valid | location.mapped, f"{index}: not mapped"
            )
        for number in range(_P.contexts):
            self._assert_context(m, dut, number)
        return m

    def _assert_context(self, m: Module, dut: Channel, number: int) -> None:
        aborting = dut.contexts[number].aborting
        since = Signal(range(_REMOTE + 2), name=f"since_{number}")  # previous cycles of the abort
        lane, remote, link = dut.lanes[number], dut.remote[number], dut.queues.link.i
        offered, held_back = Signal(name=f"offered_{number}"), lane.sends.valid & ~lane.sends.ready
        segments = lane.segments_queue
        with m.If(~aborting):
            m.d.sync += since.eq(0)
        with m.Elif(since <= _REMOTE):
            m.d.sync += since.eq(since + 1)
        m.d.sync += offered.eq(held_back & aborting)
        monitor, own = dut.monitor, dut.link_merge.own[number]
        served = dut.link_merge.served[number]
        begins = monitor.outstanding[number].begin, monitor.copies_outstanding[number].begin
        m.d.comb += [
            Assume(~aborting | ~dut.segments[number].valid),
            Assert((since < _REMOTE) | (remote.level == 0), f"{number}: remote stores stay"),
            Assert((since < _SEGMENTS) | (segments.level == 0), f"{number}: segments stay"),
            Assert(~(aborting & offered & held_back), f"{number}: a packet waits"),
            Assert(
                ~(aborting & moves(link) & (link.p.owner == number)), f"{number}: a packet is sent"
            ),
            Assert(~(aborting & Cat(begins).any()), f"{number}: a dropped access counts"),
            Assert(
                ~(moves(link) & (link.p.owner == number)) | dut.link_space[number],
                f"{number}: a packet is sent without space",
            ),
            Assert(
                ~(own.o.valid & ~own.o.ready & dut.link_space[number]) | aborting | link.valid,
                f"{number}: a packet waits for another context's space",
            ),
            Cover(
                (since == 4) & (remote.level > 2) & dut.link_out.valid, f"{number}: stores drain"
            ),
            Cover(aborting & moves(lane.sends) & offered, f"{number}: a packet is dropped"),
        ]
        # Remote stores and packets of the lane take turns, unless one has got some of its copies.
        turns = own.last | ~lane.sends.valid
        is_next = remote.o.valid & Mux(served.any(), ~own.last, turns)
        left = 2 * remote.level + Mux(remote.o.valid, 0, 2) - is_next
        m.d.comb += [
            invariant(remote.level == remote.stored + remote.o.valid, f"{number}: remote"),
            invariant(remote.stored < _P.remote_depth, f"{number}: remote: overflow"),
            invariant(remote.o.valid | (remote.stored <= 1), f"{number}: remote: not read ahead"),
            invariant(
                (remote.level == 0) | (left + since <= _REMOTE), f"{number}: remote: too slow"
            ),
            invariant((segments.level == 0) | (segments.level + since <= 4), f"{number}: segments"),
            invariant(
                ~served.any() | Mux(own.last, lane.sends.valid, remote.o.valid),
                f"{number}: copies of no packet",
            ),
        ]


class UnitHarness(Elaboratable):
    """Harness of a context unit that is aborted.

    From the strobe on, the registers report the context as aborting, and the queue of copies
    empties. No bit errors are injected. All other inputs are arbitrary.
    """

    def __init__(self, unit: type = ContextUnit):
        self._unit = unit

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._unit(_P_OF_UNIT, 0)
        inputs = [
            value
            for path, member, value in dut.signature.flatten(dut)
            if member.flow.name == "In" and path[0] != "inject"
        ]
        registers = dut.registers
        abort, aborting = registers.abort, registers.aborting
        since = Signal(range(_UNIT + 1), name="since")
        started = Signal()
        free(m, *inputs)
        with m.If(abort):
            m.d.sync += [since.eq(0), started.eq(1)]
        with m.Elif(~aborting):
            m.d.sync += started.eq(0)
        with m.Elif(since != _UNIT):
            m.d.sync += since.eq(since + 1)
        late = started & aborting & (since == _UNIT)
        m.d.comb += [
            Assume(~(started & (since == 0)) | aborting),
            Assume(~(started & (since >= _COPIES)) | ~registers.copies.valid),
            invariant(since <= _UNIT, "since"),
            Assert(~late | dut.own_idle, "not idle"),
            Assert(~late | ~dut.clearing, "clearing the counts takes too long"),
            Assert(~aborting | dut.completions.ready, "a completion of another context is held up"),
            Assert(
                ~aborting | ~Cat(lane.valid for lane in dut.segments).any(), "a segment is sent"
            ),
            Assert(~aborting | registers.copies.ready, "a copy stays"),
        ]
        queue = dut.trigger.queue
        no_injection(m, queue.injector)
        held_words(m, queue, "ready")
        held(m, queue.checked, "checked")
        m.d.comb += [
            Cover(late, "an abort lasts"),
            Cover(started & aborting & moves(dut.trigger.ready), "a command is dropped"),
        ]
        return m


class BankHarness(Elaboratable):
    """Harness of a tracker bank in which both contexts are cleared at arbitrary times."""

    def __init__(self, bank: type = TrackerBank):
        self._bank = bank

    def elaborate(self, platform):
        m = Module()
        p = _P_OF_BANK
        m.submodules.dut = dut = self._bank(p)
        free(m, dut.i.valid, dut.i.p, dut.o.ready, *dut.ways)
        free(m, dut.clear, dut.aborting)
        had_space, who = Signal(), Signal()
        m.d.sync += had_space.eq(dut.space)
        m.d.comb += [Assume(~dut.i.valid | had_space), who.eq(AnyConst(1))]
        mine, clearing = dut.clear.bit_select(who, 1), dut.clearing.bit_select(who, 1)
        since, others = Signal(range(_BANK + 1)), Signal(2)
        with m.If(mine | ~clearing):
            m.d.sync += [since.eq(0), others.eq(0)]
        with m.Elif(since != _BANK):
            m.d.sync += since.eq(since + 1)
            with m.If(dut.clear.any() & ~others.all()):
                m.d.sync += others.eq(others + 1)
        walked = Signal(reset_less=True)
        m.d.sync += walked.eq(dut.walk.clears)
        stages = dut.checking | dut.comparing | dut.updating
        relate_walk(m, dut, walked, had_space)
        m.d.comb += [
            invariant(~(dut.table.clearing & stages), "an event is in flight while all is cleared"),
            invariant(
                ~(dut.table.clearing & dut.table.written_ways.any()), "a write during the clear"
            ),
            Assert(since < _BANK, "the clear takes too long"),
            Cover(clearing & (since == 2 * _WALK - 2) & (others != 0), "another clear comes first"),
        ]
        return m


_INDEPENDENT = "independently of the link and of the other context, even if they block forever"

PROOFS = (
    Proof(
        name="abort-channel",
        statement=f"While a context is aborting, {_INDEPENDENT}, its remote stores are dropped "
        f"within {_REMOTE} cycles, the segments of its lane within {_SEGMENTS}, and the packets "
        "that its lane offers within two; none of its packets enters the queue before the link, "
        "and none of its dropped accesses counts as outstanding; a packet enters that queue only "
        "with space for its context, and never waits for the space of another context",
        blocks=(Channel,),
        harness=ChannelHarness,
        geometry="2 contexts, 9 remote stores of each, 4 workgroups, addresses of 3 bits",
        reason="the proof depends on no width; a longer queue takes two more cycles per store",
        depth=2,
        cover_depth=14,
        slow=True,
    ),
    Proof(
        name="abort-unit",
        statement=f"Within {_UNIT} cycles of an abort, the unit of the context is idle and has "
        "cleared all counts, independently of the admitted workgroups and of its lanes; during the "
        "abort it sends no segment and accepts every completion and every copy",
        blocks=(ContextUnit,),
        harness=UnitHarness,
        geometry="2 admitted workgroups, space for 2 commands, 1 walker, addresses of 3 bits",
        reason="each cycle clears one count and drops one command",
        depth=_UNIT + 2,
        cover_depth=14,
        slow=True,
    ),
    Proof(
        name="abort-tracker-bank",
        statement=f"All entries of a context are cleared within {_BANK} cycles of its clear, "
        "independently of incoming events, of waiting completions and of clears of the other "
        "context: the time of two walks, of which the first may belong to the other context",
        blocks=(TrackerBank,),
        harness=BankHarness,
        geometry="2 contexts, 2 sets of 2 entries",
        reason="a walk takes one cycle per set",
        depth=_BANK + 2,
        cover_depth=_BANK + 10,
        slow=True,
    ),
)
