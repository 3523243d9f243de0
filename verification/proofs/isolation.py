"""The top with two contexts: what is of a context comes from its own inputs."""

import gc
import warnings
from dataclasses import dataclass

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Signal, Value

from rtl.channel.channel import Channel
from rtl.channel.issue_ack_buffer import IssueAckBuffer
from rtl.interface.configuration import RegionEntry
from rtl.interface.encodings import Access, Origin
from rtl.parameters import T3Parameters
from rtl.top import T3

from .any_block import AnyBlock
from .isolation_inside import relate
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    system_channels=1,
    interleave_atoms=2,
    address_bits=8,
    workgroup_bits=2,
    wavefronts=2,
    tile_atom_bits=2,
    context_bits=2,
    contexts=2,
    tag_bits=1,
    regions=1,
    ranges=1,
    commands=1,
    sets=2,
    ways=2,
    credit_window=2,
    command_depth=2,
    dma_walkers=1,
    egress_slots=2,
    remote_depth=9,
)
_BUFFER = 2  # issue acknowledgements that wait


@dataclass(frozen=True)
class Marks:
    """What tells the contexts' traffic apart.

    Attributes
    ----------
    came : list of Signal
        Something of the context came already: a store, a packet, or a segment.
    remote : list of Signal
        Address space that each one sends to.
    regions : list
        Of each context.
    since_reset : Signal
        Cycles, in which all sets are cleared.
    """

    came: list
    remote: list
    regions: list
    since_reset: Signal

    def has_come(self, owner: Value) -> Value:
        return Cat(self.came).bit_select(owner, 1)

    def is_sent_to(self, owner: Value, space: Value) -> Value:
        return Cat(
            (owner == number) & (space == remote) for number, remote in enumerate(self.remote)
        ).any()

    def holds(self, owner: Value, atom: Value, length: Value | int = 1) -> Value:
        """Whether a region of the owner has all these atoms."""
        return Cat(
            (owner == number)
            & region.enable
            & (region.base <= atom)
            & (atom + length <= region.limit)
            for number, regions in enumerate(self.regions)
            for region in regions
        ).any()


class IsolationHarness(Elaboratable):
    """Marks the traffic of each context by what no block looks at, and every effect carries: the
    wavefront, and of what leaves over the link the lowest bit of the generation, are the number of
    the context.

    In the place of the registers and of the contexts' own units stand blocks that do what they
    like in every cycle: launches and aborts, admissions and tables are anything at any time, in
    both contexts. Constant is what software locks, and any: the address spaces and the regions.
    Links, memory and neighbours do what they like as well. Assumed is that the memory acknowledges
    only what it was asked for, and that no wrong bits are injected.
    """

    def __init__(self, top: type = T3, channel: type = Channel):
        self._top = top
        self._channel = channel

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._cut()
        port = dut.channel[0]
        for one in (port.reads, port.stores, port.link_in, port.issue_acks, port.returns):
            free(m, one.valid, one.p)
        free(m, port.link_out.ready, port.link_room, port.dram.ready, port.occupancy)
        registers = dut.registers
        m.d.comb += [Assume(~registers.inject.set), Assume(~registers.patrol)]
        marks = Marks(
            came=[Signal(name=f"came_{number}") for number in range(_P.contexts)],
            remote=[Signal(_P.context_bits, name=f"remote_{n}") for n in range(_P.contexts)],
            regions=[
                [Signal(RegionEntry(_P), name=f"region_{n}_{i}") for i in range(_P.regions)]
                for n in range(_P.contexts)
            ],
            since_reset=Signal(range(_P.sets + 1)),
        )
        with m.If(marks.since_reset != _P.sets):
            m.d.sync += marks.since_reset.eq(marks.since_reset + 1)
        spaces = [self._fix(m, dut, marks, number) for number in range(_P.contexts)]
        m.d.comb += Assume(spaces[0].local != spaces[1].local)
        self._mark(m, dut, port, marks, spaces)
        self._assert_memory(m, port, marks)
        self._assert_link(m, port, marks)
        for number in range(_P.contexts):
            self._assert_context(m, dut, marks, number)
        gpu = dut.registers.error
        m.d.comb += [
            Assert(~gpu.valid | gpu.report.stray, "an error of a context is the GPU's"),
            Cover(gpu.valid, "a stray packet"),
        ]
        relate(m, dut, marks)
        return m

    def _cut(self):
        """The top, with the parts that do what they like."""
        with warnings.catch_warnings():
            # What is replaced is not used.
            warnings.simplefilter("ignore")
            dut, channel = self._top(_P), self._channel(_P)
            dut.registers = AnyBlock(dut.registers)
            dut.contexts = [AnyBlock(unit) for unit in dut.contexts]
            dut.channels = [channel]
            channel.issue_ack_buffer = IssueAckBuffer(_P, depth=_BUFFER)
            gc.collect()
        return dut

    def _fix(self, m: Module, dut, marks: Marks, number: int):
        """What is constant of a context."""
        view = dut.contexts[number].view
        space = Signal.like(view.address_space, name=f"address_space_{number}")
        m.d.comb += [
            space.as_value().eq(AnyConst(len(space.as_value()))),
            marks.remote[number].eq(space.remote),
            Assume(view.address_space == space),
        ]
        for entry, region in zip(view.maps.regions, marks.regions[number], strict=True):
            m.d.comb += [
                region.as_value().eq(AnyConst(len(region.as_value()))),
                Assume(entry == region),
            ]
        return space

    def _mark(self, m: Module, dut, port, marks: Marks, spaces: list) -> None:
        """What comes of each context has its mark."""
        comes = [Signal(name=f"comes_{number}") for number in range(_P.contexts)]
        for number, (came, unit) in enumerate(zip(marks.came, dut.contexts, strict=True)):
            m.d.sync += came.eq(came | comes[number])
            sources = [(unit.segments[0].valid, unit.segments[0].p, 0)]
            for one in (port.stores, port.link_in):
                mine = spaces[number].enable & (spaces[number].local == one.p.context)
                sources.append((one.valid & mine, one.p, 1))
            for valid, payload, has_wavefront in sources:
                marked = payload.generation[0] == number
                if has_wavefront:
                    marked &= payload.wavefront == number
                m.d.comb += Assume(~valid | marked)
            m.d.comb += comes[number].eq(Cat(valid for valid, *_ in sources).any())
            segment = unit.segments[0].p
            within = segment.atom[0] + segment.length <= _P.interleave_atoms
            m.d.comb += [
                # As the engine gives them (dma-engine).
                Assume(
                    ~unit.segments[0].valid
                    | (within & (segment.length != 0))
                    & marks.holds(Const(number, 1), segment.atom, segment.length)
                    & (segment.context == marks.remote[number])
                ),
                # A unit to which nothing came has nothing to do.
                Assume(came | (unit.own_idle & unit.sent)),
            ]
            for error in unit.errors:
                report = error.report
                m.d.comb += Assume(
                    (report.owner == number) & ~report.stray & (report.wavefront == number)
                )
        ack = port.issue_acks
        m.d.comb += [
            Assume(~ack.valid | marks.has_come(ack.p.owner)),
            Assume(~ack.valid | (ack.p.access != Access.UPDATE) | (ack.p.wavefront == ack.p.owner)),
        ]

    def _assert_memory(self, m: Module, port, marks: Marks) -> None:
        """A context reads, writes and updates through T3 only where its regions are."""
        request = port.dram.p
        updates = port.dram.valid & (request.access == Access.UPDATE)
        communicates = port.dram.valid & (request.origin == Origin.COMMUNICATION)
        reads = communicates & (request.access == Access.READ)
        owner, mine = request.owner, Signal()
        m.d.comb += [
            mine.eq(marks.holds(owner, request.atom) & marks.has_come(owner)),
            Assert(~updates | (request.wavefront == owner), "an update of another context"),
            Assert(~(updates | communicates) | mine, "an access outside the context's regions"),
            Assert(
                ~reads | (request.tag[_P.slot_bits : _P.egress_bits] == owner),
                "data for another context's slot",
            ),
        ]
        for number in range(_P.contexts):
            other = marks.came[1 - number]
            m.d.comb += [
                Cover(updates & (owner == number) & other, f"{number}: an update"),
                Cover(reads & (owner == number), f"{number}: a read"),
            ]

    def _assert_link(self, m: Module, port, marks: Marks) -> None:
        sent, owner = port.link_out, port.link_owner
        m.d.comb += [
            Assert(~sent.valid | (sent.p.generation[0] == owner), "another context's packet"),
            Assert(
                ~sent.valid | marks.is_sent_to(owner, sent.p.context), "to another address space"
            ),
            Assert(~sent.valid | marks.has_come(owner), "a packet of nothing"),
        ]
        for number in range(_P.contexts):
            m.d.comb += Cover(
                moves(sent) & (owner == number) & marks.came[1 - number], f"{number}: a packet"
            )

    def _assert_context(self, m: Module, dut, marks: Marks, number: int) -> None:
        """What a context's unit and its registers are told."""
        unit, registers = dut.contexts[number], dut.registers.context[number]
        complete, error, came = unit.completions, registers.error, marks.came[number]
        idle, clearing = dut.context[number].idle, dut.tracker.clearing[number]
        failed, begun = (Signal(name=f"{name}_{number}") for name in ("failed", "begun"))
        cleared = marks.since_reset == _P.sets
        m.d.sync += [
            begun.eq(cleared),
            failed.eq(Cat(error.valid for error in unit.errors).any()),
        ]
        m.d.comb += [
            Assert(
                ~complete.valid | ((complete.p.wavefront == number) & came),
                f"{number}: completes another context's tile",
            ),
            Assert(
                ~error.valid | (error.report.wavefront == number) & ~error.report.stray,
                f"{number}: another context's error",
            ),
            Assert(~error.valid | came | failed, f"{number}: an error of nothing"),
            Assert(came | ~clearing | ~cleared, f"{number}: cleared, but nothing came"),
            Assert(
                registers.abort | ~dut.tracker.clear[number],
                f"{number}: its tiles are forgotten, but it was not aborted",
            ),
            Assert(came | clearing | unit.over, f"{number}: not over, but nothing came"),
            Assert(came | ~begun | idle, f"{number}: not idle, but nothing came"),
            Assert(came | ~begun | registers.sent, f"{number}: sends, but nothing came"),
            Assert(came | dut.channel[0].stores_room[number], f"{number}: no room, for nothing"),
            Assert(
                unit.sends
                == moves(dut.channel[0].link_out) & (dut.channel[0].link_owner == number),
                f"{number}: another context's packet counts",
            ),
            Cover(moves(complete), f"{number}: a complete tile"),
            Cover(error.valid & ~failed, f"{number}: an error"),
            Cover(came & ~idle & dut.context[1 - number].idle, f"{number}: busy alone"),
        ]


PROOFS = (
    Proof(
        name="isolation",
        statement="Whatever both contexts do: an update, an end-of-tile marker, a read or a packet "
        "of a context, a tile that is completed for it and an error that is told to it come of "
        "stores, packets and segments of its own; what it reads, updates and writes through T3 "
        "lies in its regions, what it reads comes back to it, and what it sends goes to its remote "
        "address space; if nothing of it came, it is idle, and nothing is cleared for it",
        blocks=(T3, Channel),
        harness=IsolationHarness,
        geometry="2 contexts, 1 channel, 1 bank of 2 sets of 2 entries, 4 workgroups, 2 "
        "wavefronts, addresses of 3 bits, 1 region, 2 issue acknowledgements that wait; any "
        "constant region and address spaces; registers and the contexts' own units give anything",
        reason="payloads are only moved, and each context's registers and unit are its own "
        "(registers, trigger, credit-window, dma-engine)",
        depth=1,
        cover_depth=14,
        timeout_s=900,
        slow=True,
    ),
)
