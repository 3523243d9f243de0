# amaranth: UnusedElaboratable=no
"""The hardware of one GPU."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .channel.channel import Channel
from .context.unit import ContextUnit
from .interface.encodings import InjectTarget
from .interface.signatures import ChannelSignature, ContextSignature, T3Signature
from .lib.follower import Follower
from .lib.sleep import may_sleep
from .lib.wide_counter import WideCounter
from .link.errors import LinkErrors
from .link.parameters import LinkParameters
from .link.ring import RingLinks, WiredT3Signature
from .parameters import T3Parameters
from .registers.error_choice import ErrorChoice
from .registers.port import Registers
from .tracker.tracker import Tracker

__all__ = ["T3"]


class T3(wiring.Component):
    """Tracks the updates of a GPU's output tiles, and sends on each tile when it is complete.

    Every output is a register or a queue's end: none depends combinationally on an input. Of the
    errors of a context in one cycle the first is reported, a cycle later: those of the channels,
    lowest first (its store's, its packet's, its issue acknowledgement's), of the tracker's banks,
    of the context's unit (see :class:`ContextUnit`). Errors of the links wait until the GPU has no
    other one.

    Parameters
    ----------
    p : T3Parameters
    link : LinkParameters or None
        With them the link endpoints are inside, and the ports for the neighbours are their wires:
        see :class:`WiredT3Signature`.

    Members
    -------
    channel, context, bus, tick, irq
        See :class:`T3Signature`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    registers : Registers
    tracker : Tracker
    contexts : list of ContextUnit
    channels : list of Channel

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`, or ``link`` neither a :class:`LinkParameters` nor
        None.
    ValueError
        If a channel has no address, a parameter's value does not fit a register, or the link is not
        for these parameters.
    """

    def __init__(self, p: T3Parameters, link: LinkParameters | None = None):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        self._links = None if link is None else RingLinks(p, link)
        super().__init__(T3Signature(p) if link is None else WiredT3Signature(p, link))
        self.registers = Registers(p)
        self.tracker = Tracker(p)
        self.contexts = [ContextUnit(p, number) for number in range(p.contexts)]
        self.channels = [Channel(p) for _ in range(p.channels)]
        self._error_choice = ErrorChoice(
            p,
            channels=sum(len(channel.errors) for channel in self.channels),
            banks=len(self.tracker.errors),
            own=len(self.contexts[0].errors),
        )
        self._link_errors = LinkErrors(p)
        self._corrections = WideCounter(len(self.registers.corrected))
        self._patrols = WideCounter(len(self.registers.patrolled))
        self._held_up = Signal(p.channels)
        # What is found out from all over the hardware, and known a cycle later.
        found = dict.fromkeys(("idle", "gone", "sent"), p.contexts)
        found |= dict.fromkeys(("corrected", "patrolled", "armed"), 1)
        self._finding = Signal(data.StructLayout(found))
        self._findings = Follower(len(Value.cast(self._finding)))
        self._found = data.View(self._finding.shape(), self._findings.o)

    def elaborate(self, platform):
        m = Module()
        m.submodules.tracker = self.tracker
        for number, unit in enumerate(self.contexts):
            m.submodules[f"context_{number}"] = unit
        rooms = {
            "registers": self.registers,
            "error_choice": self._error_choice,
            "link_errors": self._link_errors,
            "corrections": self._corrections,
            "patrols": self._patrols,
            "findings": self._findings,
        }
        for name, room in rooms.items():
            m.submodules[name] = may_sleep(room, platform)
        wiring.connect(m, wiring.flipped(self.bus), self.registers.bus)
        m.d.comb += self.irq.eq(self.registers.irq)
        if self._links is not None:
            m.submodules.links = self._links
            self._connect_wires(m)
        m.d.comb += self._findings.i.eq(self._finding)
        self._connect_channels(m)
        self._distribute(m)
        for number in range(self._p.contexts):
            self._connect_context(m, number)
        self._count_corrections(m)
        self._report_errors(m)
        self._inject(m)
        self._report_links(m)
        return m

    def _connect_wires(self, m: Module) -> None:
        """The links inside to the ports."""
        for inside, outside in zip(self._links.wires, self.link, strict=True):
            wiring.connect(m, inside.downstream, wiring.flipped(outside.downstream))
            wiring.connect(m, inside.upstream, wiring.flipped(outside.upstream))

    def _connect_channels(self, m: Module) -> None:
        """Each channel to the ports, the tracker, and what the contexts say."""
        registers, contexts = self.registers, self.contexts
        told = {name: Signal(name=name) for name in ("active", "relaxed", "critical", "congested")}
        for name, signal in told.items():
            of_all = Cat(getattr(unit, name) for unit in contexts)
            m.d.comb += signal.eq(of_all.any())
        # Communication has time only if that of every active context has.
        hurried = Cat(unit.active & ~unit.relaxed for unit in contexts)
        m.d.comb += told["relaxed"].eq(told["active"] & ~hurried.any())
        # A channel's share of the link is what the others leave: while one's packet waits, the link
        # holds communication up, and not the memory.
        waits = Cat(
            channel.link_out.valid & ~channel.link_out.ready for channel in self.channels
        ).any()
        of_channels = Cat(channel.held_up for channel in self.channels)
        m.d.comb += self._held_up.eq(Mux(waits, 0, of_channels))
        for index, channel in enumerate(self.channels):
            m.submodules[f"channel_{index}"] = channel
            self._connect_ports(m, index, channel)
            wiring.connect(m, channel.tile_issue_acks, self.tracker.issue_acks[index])
            wiring.connect(m, channel.end_of_tile_markers, self.tracker.ends[index])
            for number, unit in enumerate(contexts):
                wiring.connect(m, unit.segments[index], channel.segments[number])
            m.d.comb += [
                channel.contexts.eq(Cat(unit.view for unit in contexts)),
                channel.arbiter.eq(registers.arbiter),
                channel.number.eq(registers.number),
                channel.start.eq(Cat(context.start for context in registers.context).any()),
            ]
            m.d.comb += [getattr(channel, name).eq(signal) for name, signal in told.items()]

    def _distribute(self, m: Module) -> None:
        """Complete tiles to the context that owns them."""
        complete = self.tracker.o
        takes = []
        for number, unit in enumerate(self.contexts):
            here = complete.p.owner == number
            m.d.comb += [
                unit.completions.valid.eq(complete.valid & here),
                unit.completions.p.eq(complete.p),
            ]
            takes.append(unit.completions.ready & here)
        m.d.comb += complete.ready.eq(Cat(takes).any())

    def _connect_context(self, m: Module, number: int) -> None:
        """A context's unit to its registers, its ports and what it shares."""
        unit, registers, ports = (
            self.contexts[number],
            self.registers.context[number],
            self.context[number],
        )
        tracker = self.tracker
        wiring.connect(m, registers, unit.registers)
        sends = Cat(
            channel.link_out.valid & channel.link_out.ready & (channel.link_owner == number)
            for channel in self.channels
        )
        rests = unit.own_idle & tracker.empty[number]
        for name, here in (("idle", rests), ("gone", rests), ("sent", unit.sent)):
            of_channels = Cat(getattr(channel, name)[number] for channel in self.channels)
            m.d.comb += self._finding[name][number].eq(here & of_channels.all())
        idle, gone, sent = (self._found[name][number] for name in ("idle", "gone", "sent"))
        m.d.comb += [
            unit.tick.eq(self.tick),
            unit.idle.eq(idle),
            unit.sends.eq(sends.any()),
            unit.held_up.eq(self._held_up),
            tracker.updates_per_atom[number].eq(registers.launch_configuration.updates_per_atom),
            tracker.ways[number].eq(registers.ways),
            tracker.clear[number].eq(registers.abort),
            tracker.aborting[number].eq(registers.aborting),
            unit.over.eq(
                tracker.empty[number] & Cat(channel.over[number] for channel in self.channels).all()
            ),
            registers.idle.eq(idle),
            registers.gone.eq(gone),
            registers.sent.eq(sent),
            registers.clearing.eq(tracker.clearing[number] | unit.clearing),
        ]
        for name, member in ContextSignature(self._p).members.items():
            if name not in ("idle", "irq"):
                inside, outside = getattr(unit.outside, name), self._context_port(number, name)
                m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
        m.d.comb += [ports.idle.eq(idle), ports.irq.eq(registers.irq)]

    def _count_corrections(self, m: Module) -> None:
        registers, found, units = self.registers, self._found, self.contexts
        corrected = Cat(part.corrected for part in (*self.channels, *units))
        patrolled = Cat(unit.patrolled for unit in units)
        m.d.comb += [
            self._finding.corrected.eq(corrected.any() | self.tracker.corrected),
            self._corrections.step.eq(found.corrected),
            registers.corrected.eq(self._corrections.o),
            self._finding.patrolled.eq(patrolled.any() | self.tracker.patrolled),
            self._patrols.step.eq(found.patrolled),
            registers.patrolled.eq(self._patrols.o),
            self.tracker.patrol.eq(registers.patrol),
            *(unit.patrol.eq(registers.patrol) for unit in units),
        ]

    def _inject(self, m: Module) -> None:
        """Wrong bits on demand: to each memory with check bits."""
        inject = self.registers.inject
        memories = {
            InjectTarget.TRACKER: self.tracker.inject,
            InjectTarget.TILES: [unit.inject[0] for unit in self.contexts],
            InjectTarget.GROUPS: [unit.inject[1] for unit in self.contexts],
            InjectTarget.COMMANDS: [unit.inject[2] for unit in self.contexts],
            InjectTarget.ISSUE_ACKS: [channel.inject for channel in self.channels],
        }
        armed = []
        for target, ports in memories.items():
            for instance, port in enumerate(ports):
                m.d.comb += [
                    port.set.eq(inject.set),
                    port.select.eq((inject.target == target) & (inject.instance == instance)),
                    port.double.eq(inject.double),
                ]
                armed.append(port.armed)
        m.d.comb += [
            self._finding.armed.eq(Cat(armed).any()),
            self.registers.armed.eq(self._found.armed),
        ]

    def _report_errors(self, m: Module) -> None:
        """Of all blocks, in the order of the choice."""
        choice = self._error_choice
        of_channels = [error for channel in self.channels for error in channel.errors]
        for sink, source in (
            *zip(choice.channels, of_channels, strict=True),
            *zip(choice.banks, self.tracker.errors, strict=True),
        ):
            m.d.comb += [sink.valid.eq(source.valid), sink.report.eq(source.report)]
        for number, channel in enumerate(self.channels):
            for sink in choice.channels[len(channel.errors) * number :][: len(channel.errors)]:
                m.d.comb += sink.report.channel.eq(number)
        for number, unit in enumerate(self.contexts):
            for sink, source in zip(choice.own[number], unit.errors, strict=True):
                m.d.comb += [sink.valid.eq(source.valid), sink.report.eq(source.report)]
            error, report = self.registers.context[number].error, choice.contexts[number]
            m.d.comb += [error.valid.eq(report.valid), error.report.eq(report.report)]

    def _report_links(self, m: Module) -> None:
        """To the GPU, when it has no other error."""
        links, stray = self._link_errors, self._error_choice.stray
        out, channels = self.registers.error, range(self._p.channels)
        m.d.comb += [
            links.down.eq(Cat(self._channel_port(n, "link_down") for n in channels)),
            links.reset.eq(Cat(self._channel_port(n, "link_reset") for n in channels)),
            links.hold.eq(stray.valid),
            out.valid.eq(stray.valid | links.error.valid),
            out.report.eq(Mux(stray.valid, stray.report, links.error.report)),
        ]

    def _connect_ports(self, m: Module, index: int, channel: Channel) -> None:
        for name, member in ChannelSignature(self._p).members.items():
            if not hasattr(channel, name):
                continue
            outside, inside = self._channel_port(index, name), getattr(channel, name)
            if not member.is_port:
                wiring.connect(m, outside, inside)
            elif member.flow is In:
                m.d.comb += inside.eq(outside)
            else:
                m.d.comb += outside.eq(inside)

    def _channel_port(self, index: int, name: str):
        """A port of a channel, or what the links inside have in its place."""
        port = wiring.flipped(self.channel[index])
        if self._links is not None and not hasattr(port, name):
            port = self._links.channel[index]
        return getattr(port, name)

    def _context_port(self, index: int, name: str):
        port = self.context[index]
        if self._links is not None and not hasattr(port, name):
            port = self._links.context[index]
        return getattr(port, name)
