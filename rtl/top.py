"""The hardware of one GPU."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .channel.channel import Channel
from .dma.engine import DmaEngine
from .interface.signatures import ChannelSignature, ErrorSignature, T3Signature
from .lib.select import one_hot_first, one_hot_select
from .lib.wide_counter import WideCounter
from .parameters import T3Parameters
from .registers.port import Registers
from .tracker.tracker import Tracker
from .trigger.credit_window import CreditWindow
from .trigger.criticality import Criticality
from .trigger.trigger import Trigger

__all__ = ["T3"]


class T3(wiring.Component):
    """Tracks the updates of a GPU's output tiles, and sends on each tile when it is complete.

    Every output is a register or a queue's end: none depends combinationally on an input. Of the
    errors of one cycle the first is reported, a cycle later: those of the channels, lowest first
    (its store's, its packet's, its issue acknowledgement's), of the tracker's banks, of the trigger
    unit, of the credit_window.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    channel, bus, credit_limit_in, credit_limit_out, dispatch_limit, dispatched, finished, tiles, \
    done, idle, irq
        See :class:`T3Signature`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    registers : Registers
    tracker : Tracker
    trigger : Trigger
    credit_window : CreditWindow
    criticality : Criticality
    engine : DmaEngine
    channels : list of Channel

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    ValueError
        If a channel has no address, or a parameter's value does not fit a register.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(T3Signature(p))
        self.registers = Registers(p)
        self.tracker = Tracker(p)
        self.trigger = Trigger(p)
        self.credit_window = CreditWindow(p)
        self.criticality = Criticality(p)
        self.engine = DmaEngine(p)
        self.channels = [Channel(p) for _ in range(p.channels)]

    def elaborate(self, platform):
        m = Module()
        m.submodules.registers = self.registers
        m.submodules.tracker = self.tracker
        m.submodules.trigger = self.trigger
        m.submodules.credit_window = self.credit_window
        m.submodules.criticality = self.criticality
        m.submodules.engine = self.engine
        self._connect_channels(m)
        self._connect_streams(m)
        self._configure(m)
        self._control_flow(m)
        self._show(m)
        self._count_corrections(m)
        self._report_errors(m)
        return m

    def _connect_channels(self, m: Module) -> None:
        """Each channel to the ports, the tracker, the engine, and its configuration."""
        registers, credit_window = self.registers, self.credit_window
        criticality = self.criticality
        for index, channel in enumerate(self.channels):
            m.submodules[f"channel_{index}"] = channel
            self._connect_ports(m, self.channel[index], channel)
            wiring.connect(m, channel.tile_issue_acks, self.tracker.issue_acks[index])
            wiring.connect(m, channel.end_of_tile_markers, self.tracker.ends[index])
            wiring.connect(m, self.engine.segments[index], channel.segments)
            m.d.comb += [
                channel.maps.eq(registers.maps),
                channel.launch_configuration.eq(registers.launch_configuration),
                channel.arbiter.eq(registers.arbiter),
                channel.start.eq(registers.start),
                channel.active.eq(criticality.active),
                channel.relaxed.eq(criticality.relaxed),
                channel.critical.eq(criticality.critical),
                channel.congested.eq(criticality.congested),
                channel.oldest.eq(credit_window.oldest),
                channel.credit_limit.eq(credit_window.credit_limit),
            ]
            if self._p.with_data:
                m.d.comb += channel.epoch.eq(registers.launch_configuration.epoch)

    def _connect_streams(self, m: Module) -> None:
        """From the tracker to the trigger unit and to the engine; software's copies and bus."""
        wiring.connect(m, self.tracker.o, self.trigger.completions)
        wiring.connect(m, self.trigger.ready, self.engine.ready)
        wiring.connect(m, self.registers.copies, self.engine.copies)
        wiring.connect(m, wiring.flipped(self.bus), self.registers.bus)

    def _configure(self, m: Module) -> None:
        registers = self.registers
        launch_configuration = registers.launch_configuration
        m.d.comb += [
            self.tracker.updates_per_atom.eq(launch_configuration.updates_per_atom),
            self.tracker.clear.eq(registers.clear),
            self.trigger.maps.eq(registers.maps),
            self.trigger.clear.eq(registers.clear),
            self.engine.maps.eq(registers.maps),
            self.engine.launch_configuration.eq(launch_configuration),
            self.engine.credit_limit_in.eq(self.credit_limit_in),
            self.credit_window.launch_configuration.eq(launch_configuration),
            self.credit_window.launch.eq(registers.launch),
        ]

    def _control_flow(self, m: Module) -> None:
        """What the credit window follows."""
        trigger, credit_window = self.trigger, self.credit_window
        links = [channel.link_out for channel in self.channels]
        sends = Cat(link.valid & link.ready for link in links)
        m.d.comb += [
            credit_window.complete.eq(trigger.complete),
            credit_window.complete_dispatch_index.eq(trigger.complete_dispatch_index),
            credit_window.own.eq(trigger.own),
            credit_window.issued.eq(self.engine.issued),
            credit_window.credit_limit_in.eq(self.credit_limit_in),
            credit_window.unfinished.eq(~self.idle & ~sends.any()),
        ]
        criticality = self.criticality
        m.d.comb += [
            criticality.launch_configuration.eq(self.registers.launch_configuration),
            criticality.launch.eq(self.registers.launch),
            criticality.dispatched.eq(self.dispatched),
            criticality.finished.eq(self.finished),
            criticality.issued.eq(self.engine.issued),
            criticality.oldest.eq(credit_window.oldest),
            criticality.dispatch_limit.eq(credit_window.dispatch_limit),
            criticality.held_up.eq(Cat(channel.held_up for channel in self.channels)),
        ]

    def _show(self, m: Module) -> None:
        """What software reads, and the ports say."""
        registers, credit_window = self.registers, self.credit_window
        m.d.comb += [
            registers.done.eq(credit_window.done),
            registers.idle.eq(self.idle),
            registers.clearing.eq(self.tracker.clearing | self.trigger.clearing),
            registers.tiles.eq(self.trigger.tiles),
            registers.oldest.eq(credit_window.oldest),
            registers.credit_limit.eq(credit_window.credit_limit),
            self.credit_limit_out.eq(credit_window.credit_limit),
            self.dispatch_limit.eq(credit_window.dispatch_limit),
            self.tiles.eq(self.trigger.tiles),
            self.done.eq(credit_window.done),
            self.irq.eq(registers.irq),
        ]
        idle = [
            self.engine.idle,
            self.trigger.idle,
            self.tracker.empty,
            *(channel.idle for channel in self.channels),
        ]
        m.d.sync += self.idle.eq(Cat(idle).all())

    def _count_corrections(self, m: Module) -> None:
        registers = self.registers
        m.submodules.corrections = corrections = WideCounter(len(registers.corrected))
        corrected = Cat(channel.corrected for channel in self.channels)
        m.d.comb += registers.corrected.eq(corrections.o)
        m.d.sync += corrections.step.eq(
            corrected.any() | self.tracker.corrected | self.trigger.corrected
        )

    def _report_errors(self, m: Module) -> None:
        """The first error, registered before it is chosen among the many."""
        tracker_error = ErrorSignature(self._p).create()
        self._first_error(m, self.tracker.errors, tracker_error)
        registered = []
        reports = (*(channel.error for channel in self.channels), tracker_error)
        for error in (*reports, self.trigger.error, self.credit_window.error):
            report = ErrorSignature(self._p).create()
            m.d.sync += [report.valid.eq(error.valid), report.report.eq(error.report)]
            registered.append(report)
        self._first_error(m, registered, self.registers.error)

    def _connect_ports(self, m: Module, port, channel: Channel) -> None:
        for name, member in ChannelSignature(self._p).members.items():
            outside, inside = getattr(port, name), getattr(channel, name)
            if not member.is_port:
                wiring.connect(m, wiring.flipped(outside), inside)
            elif member.flow is In:
                m.d.comb += inside.eq(outside)
            else:
                m.d.comb += outside.eq(inside)

    def _first_error(self, m: Module, errors: Sequence, out) -> None:
        valid = Signal(len(errors))
        reports = [error.report for error in errors]
        m.d.comb += [
            valid.eq(Cat(error.valid for error in errors)),
            out.valid.eq(valid.any()),
            out.report.eq(one_hot_select(one_hot_first(valid), reports)),
        ]
