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
    channel, bus, credit_limit_in, credit_limit_out, dispatch_limit, tiles, done, idle, irq
        See :class:`T3Signature`.

    Raises
    ------
    TypeError
        If ``p`` is not a :class:`T3Parameters`.
    """

    def __init__(self, p: T3Parameters):
        if not isinstance(p, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {p!r}")
        self._p = p
        super().__init__(T3Signature(p))

    def elaborate(self, platform):
        m = Module()
        p = self._p
        m.submodules.registers = registers = Registers(p)
        m.submodules.tracker = tracker = Tracker(p)
        m.submodules.trigger = trigger = Trigger(p)
        m.submodules.credit_window = credit_window = CreditWindow(p)
        m.submodules.engine = engine = DmaEngine(p)
        m.submodules.corrections = corrections = WideCounter(len(registers.corrected))
        channels = [Channel(p) for _ in range(p.channels)]
        links = [channel.link_out for channel in channels]
        sends = Cat(link.valid & link.ready for link in links)
        launch_configuration = registers.launch_configuration

        for index, channel in enumerate(channels):
            m.submodules[f"channel_{index}"] = channel
            self._connect_ports(m, self.channel[index], channel)
            wiring.connect(m, channel.tile_issue_acks, tracker.issue_acks[index])
            wiring.connect(m, channel.end_of_tile_markers, tracker.ends[index])
            wiring.connect(m, engine.segments[index], channel.segments)
            m.d.comb += [
                channel.maps.eq(registers.maps),
                channel.launch_configuration.eq(launch_configuration),
                channel.arbiter.eq(registers.arbiter),
                channel.start.eq(registers.start),
                channel.oldest.eq(credit_window.oldest),
                channel.credit_limit.eq(credit_window.credit_limit),
            ]
            if p.with_data:
                m.d.comb += channel.epoch.eq(launch_configuration.epoch)

        wiring.connect(m, tracker.o, trigger.completions)
        wiring.connect(m, trigger.ready, engine.ready)
        wiring.connect(m, registers.copies, engine.copies)
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        m.d.comb += [
            tracker.updates_per_atom.eq(launch_configuration.updates_per_atom),
            tracker.clear.eq(registers.clear),
            trigger.maps.eq(registers.maps),
            trigger.clear.eq(registers.clear),
            engine.maps.eq(registers.maps),
            engine.launch_configuration.eq(launch_configuration),
            engine.credit_limit_in.eq(self.credit_limit_in),
            credit_window.launch_configuration.eq(launch_configuration),
            credit_window.launch.eq(registers.launch),
            credit_window.complete.eq(trigger.complete),
            credit_window.complete_dispatch_index.eq(trigger.complete_dispatch_index),
            credit_window.own.eq(trigger.own),
            credit_window.issued.eq(engine.issued),
            credit_window.credit_limit_in.eq(self.credit_limit_in),
            credit_window.unfinished.eq(~self.idle & ~sends.any()),
            registers.done.eq(credit_window.done),
            registers.idle.eq(self.idle),
            registers.clearing.eq(tracker.clearing | trigger.clearing),
            registers.tiles.eq(trigger.tiles),
            registers.corrected.eq(corrections.o),
            registers.oldest.eq(credit_window.oldest),
            registers.credit_limit.eq(credit_window.credit_limit),
            self.credit_limit_out.eq(credit_window.credit_limit),
            self.dispatch_limit.eq(credit_window.dispatch_limit),
            self.tiles.eq(trigger.tiles),
            self.done.eq(credit_window.done),
            self.irq.eq(registers.irq),
        ]
        idle = [engine.idle, trigger.empty, tracker.empty, *(channel.idle for channel in channels)]
        m.d.sync += self.idle.eq(Cat(idle).all())

        corrected = Cat(channel.corrected for channel in channels)
        m.d.sync += corrections.step.eq(corrected.any() | tracker.corrected | trigger.corrected)

        # Registered before the first is chosen among the many.
        tracker_error = ErrorSignature(p).create()
        self._first_error(m, tracker.errors, tracker_error)
        registered = []
        reports = (*(channel.error for channel in channels), tracker_error, trigger.error)
        for error in (*reports, credit_window.error):
            report = ErrorSignature(p).create()
            m.d.sync += [report.valid.eq(error.valid), report.report.eq(error.report)]
            registered.append(report)
        self._first_error(m, registered, registers.error)
        return m

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
