"""Top of the hardware of one GPU."""

from types import MappingProxyType

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from .channel.channel import CHANNEL_ERRORS, Channel
from .context.unit import UNIT_ERRORS, ContextUnit
from .interface.encodings import InjectTarget
from .interface.signatures import ChannelSignature, ContextSignature, T3Signature
from .lib.gating import clock_gated
from .lib.pipeline_register import PipelineRegister
from .lib.wide_counter import WideCounter
from .link.errors import LINK_ERRORS, LinkErrors
from .link.parameters import LinkParameters
from .link.ring import RingLinks, WiredT3Signature
from .parameters import T3Parameters
from .registers.error_priority_encoder import ErrorPriorityEncoder
from .registers.port import Registers
from .tracker.bank import BANK_ERRORS
from .tracker.tracker import Tracker

__all__ = ["T3"]


class T3(wiring.Component):
    """Hardware of one GPU: tracks the updates of output tiles and sends each complete tile.

    Every output comes from a register or a queue; none depends combinationally on an input. Errors
    reach the registers one cycle later: the kinds of all errors of the cycle, and the report of the
    rarest error (see :class:`ErrorPriorityEncoder`).

    Parameters
    ----------
    link : LinkParameters or None
        If given, the top contains link endpoints, and its ports to the neighbours are the wires of
        the links: see :class:`WiredT3Signature`.

    Members
    -------
    channel, context, bus, tick, irq, link_off
        See :class:`T3Signature`.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

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
        If a channel has no address, a parameter's value does not fit a register, or the link does
        not match the parameters.
    """

    # Contract of the memory: it owes what it gives.
    only_while = MappingProxyType(dict.fromkeys(("issue_acks", "returns"), "memory_owes"))

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
        self._error_priority_encoder = ErrorPriorityEncoder(
            p,
            own=UNIT_ERRORS,
            banks=[BANK_ERRORS] * len(self.tracker.errors),
            links=[LINK_ERRORS],
            **{name: [codes] * p.channels for name, codes in CHANNEL_ERRORS.items()},
        )
        self._link_errors = LinkErrors(p)
        self._corrections = WideCounter(len(self.registers.corrected))
        self._scrubs = WideCounter(len(self.registers.scrub_corrected))
        self._held_up = Signal(p.channels)
        # Status that is collected from all blocks, registered once.
        fields = dict.fromkeys(("idle", "drained", "dma_idle"), p.contexts)
        fields |= dict.fromkeys(("corrected", "scrub_corrected", "armed"), 1)
        self._status_next = Signal(data.StructLayout(fields))
        self._status_register = PipelineRegister(len(Value.cast(self._status_next)))
        self._status = data.View(self._status_next.shape(), self._status_register.o)

    def elaborate(self, platform):
        m = Module()
        m.submodules.tracker = self.tracker
        for number, unit in enumerate(self.contexts):
            m.submodules[f"context_{number}"] = unit
        blocks = {
            "registers": self.registers,
            "error_priority_encoder": self._error_priority_encoder,
            "link_errors": self._link_errors,
            "corrections": self._corrections,
            "scrubs": self._scrubs,
            "status_register": self._status_register,
        }
        for name, block in blocks.items():
            m.submodules[name] = clock_gated(block)
        wiring.connect(m, wiring.flipped(self.bus), self.registers.bus)
        m.d.comb += [
            self.irq.eq(self.registers.irq),
            self.link_off.eq(self.registers.link_off),
        ]
        if self._links is not None:
            m.submodules.links = self._links
            m.d.comb += self._links.off.eq(self.registers.link_off)
            self._connect_wires(m)
        m.d.comb += self._status_register.i.eq(self._status_next)
        self._connect_channels(m)
        self._distribute(m)
        for number in range(self._p.contexts):
            self._connect_context(m, number)
        self._count_corrections(m)
        self._report_errors(m)
        self._inject(m)
        return m

    def _connect_wires(self, m: Module) -> None:
        """Connect the links to the ports of the top."""
        for inside, outside in zip(self._links.wires, self.link, strict=True):
            wiring.connect(m, inside.downstream, wiring.flipped(outside.downstream))
            wiring.connect(m, inside.upstream, wiring.flipped(outside.upstream))

    def _connect_channels(self, m: Module) -> None:
        """Connect each channel to the ports, the tracker and the contexts."""
        registers, contexts = self.registers, self.contexts
        combined = {
            name: Signal(name=name) for name in ("active", "relaxed", "critical", "congested")
        }
        for name, signal in combined.items():
            of_all = Cat(getattr(unit, name) for unit in contexts)
            m.d.comb += signal.eq(of_all.any())
        # Communication is relaxed only if it is relaxed in every active context.
        hurried = Cat(unit.active & ~unit.relaxed for unit in contexts)
        m.d.comb += combined["relaxed"].eq(combined["active"] & ~hurried.any())
        # Channels share the link: while a packet of any channel waits, the link limits
        # communication, and the memory does not.
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
                channel.start.eq(Cat(context.start for context in registers.context).any()),
            ]
            m.d.comb += [getattr(channel, name).eq(signal) for name, signal in combined.items()]

    def _distribute(self, m: Module) -> None:
        """Route complete tiles to the context that owns them."""
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
        """Connect a context's unit to its registers, its ports and the shared blocks."""
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
        unit_idle = unit.own_idle & tracker.empty[number]
        for name, here in (
            ("idle", unit_idle),
            ("drained", unit_idle),
            ("dma_idle", unit.dma_idle),
        ):
            of_channels = Cat(getattr(channel, name)[number] for channel in self.channels)
            m.d.comb += self._status_next[name][number].eq(here & of_channels.all())
        idle, drained, dma_idle = (
            self._status[name][number] for name in ("idle", "drained", "dma_idle")
        )
        m.d.comb += [
            unit.tick.eq(self.tick),
            unit.awaited.eq(Cat(one.progress for one in self.contexts)),
            unit.aborts.eq(Cat(one.abort for one in self.registers.context)),
            unit.idle.eq(idle),
            unit.sends.eq(sends.any()),
            unit.held_up.eq(self._held_up),
            tracker.ways[number].eq(registers.ways),
            tracker.clear[number].eq(registers.abort),
            tracker.aborting[number].eq(registers.aborting),
            unit.stores_drained.eq(
                tracker.empty[number]
                & Cat(channel.stores_drained[number] for channel in self.channels).all()
            ),
            registers.idle.eq(idle),
            registers.drained.eq(drained),
            registers.dma_idle.eq(dma_idle),
            registers.clearing.eq(tracker.clearing[number] | unit.clearing),
        ]
        for name, member in ContextSignature(self._p).members.items():
            if name not in ("idle", "irq"):
                inside, outside = getattr(unit.outside, name), self._context_port(number, name)
                m.d.comb += inside.eq(outside) if member.flow is In else outside.eq(inside)
        m.d.comb += [ports.idle.eq(idle), ports.irq.eq(registers.irq)]

    def _count_corrections(self, m: Module) -> None:
        """Count cycles with corrections, and distribute the scrub strobe."""
        registers, status, units = self.registers, self._status, self.contexts
        corrected = Cat(part.corrected for part in (*self.channels, *units))
        scrub_corrected = Cat(unit.scrub_corrected for unit in units)
        m.d.comb += [
            self._status_next.corrected.eq(corrected.any() | self.tracker.corrected),
            self._corrections.step.eq(status.corrected),
            registers.corrected.eq(self._corrections.o),
            self._status_next.scrub_corrected.eq(
                scrub_corrected.any() | self.tracker.scrub_corrected
            ),
            self._scrubs.step.eq(status.scrub_corrected),
            registers.scrub_corrected.eq(self._scrubs.o),
            self.tracker.scrub.eq(registers.scrub),
            *(unit.scrub.eq(registers.scrub) for unit in units),
        ]

    def _inject(self, m: Module) -> None:
        """Connect error injection to each memory with check bits."""
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
            self._status_next.armed.eq(Cat(armed).any()),
            self.registers.armed.eq(self._status.armed),
        ]

    def _report_errors(self, m: Module) -> None:
        """Collect the errors of all blocks for the registers."""
        encoder, links, registers = self._error_priority_encoder, self._link_errors, self.registers
        channels = range(self._p.channels)
        m.d.comb += [
            links.down.eq(Cat(self._channel_port(n, "link_down") for n in channels)),
            links.reset.eq(Cat(self._channel_port(n, "link_reset") for n in channels)),
        ]
        ports = [
            *zip(encoder.banks, self.tracker.errors, strict=True),
            (encoder.links[0], links.error),
        ]
        for number, channel in enumerate(self.channels):
            of_channel = [getattr(encoder, name)[number] for name in CHANNEL_ERRORS]
            ports += zip(of_channel, channel.errors, strict=True)
        for sinks, unit in zip(encoder.own, self.contexts, strict=True):
            ports += zip(sinks, unit.errors, strict=True)
        for sink, source in ports:
            m.d.comb += [sink.valid.eq(source.valid), sink.report.eq(source.report)]
        for number in channels:
            for name in CHANNEL_ERRORS:
                m.d.comb += getattr(encoder, name)[number].report.channel.eq(number)
        owners = [
            (registers.error, encoder.gpu),
            *zip((page.error for page in registers.context), encoder.contexts, strict=True),
        ]
        for error, found in owners:
            m.d.comb += [
                error.valid.eq(found.valid),
                error.report.eq(found.report),
                error.kinds.eq(found.kinds),
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
        """Find a port of a channel; with links inside, it may be a port of the links."""
        port = wiring.flipped(self.channel[index])
        if self._links is not None and not hasattr(port, name):
            port = self._links.channel[index]
        return getattr(port, name)

    def _context_port(self, index: int, name: str):
        port = self.context[index]
        if self._links is not None and not hasattr(port, name):
            port = self._links.context[index]
        return getattr(port, name)
