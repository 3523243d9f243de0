# amaranth: UnusedElaboratable=no
"""The part of the hardware that each context has for itself."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.engine import DmaEngine
from rtl.interface.configuration import ContextView
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, Segment
from rtl.interface.signatures import ContextSignature, ErrorSignature
from rtl.lib.injection import InjectSignature
from rtl.lib.sleep import may_sleep
from rtl.parameters import T3Parameters
from rtl.registers.context_page import ContextRegistersSignature
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.trigger import Trigger

from .outside_view import OutsideView

__all__ = ["ContextUnit"]


class ContextUnit(wiring.Component):
    """From a context's complete tiles to its segments for the channels, and its flow control.

    Parameters
    ----------
    p : T3Parameters
    number : int
        Of the context.

    Members
    -------
    registers : In(:class:`ContextRegistersSignature`)
        Its ``idle``, ``clearing`` and ``error`` come from outside.
    outside : Out(:class:`ContextSignature`)
        The context's ports of the top, but for ``idle`` and ``irq``.
    completions : In(stream)
        From the tracker.
    segments : Out(stream).array(channels)
        For the lanes.
    view : Out(:func:`ContextView`)
        For the channels.
    tick : In(1)
        The GPU's timebase.
    held_up : In(channels)
        See :class:`Criticality`.
    sends : In(1)
        A packet of the context leaves in this cycle.
    idle : In(1)
        Nothing of the context is left, here or elsewhere.
    active, relaxed, critical, congested : Out(1)
        See :class:`Criticality`.
    sent, own_idle, clearing : Out(1)
        No command is in the DMA engine; none is here, and no complete tile; the counts are being
        cleared.
    over : In(1)
        No tile of the launch is elsewhere, and none of its stores and updates.
    errors : Out(:class:`ErrorSignature`).array(4)
        Of the trigger unit, the credit window, the DMA engine, and the downstream GPU.
    corrected : Out(1)
        In this cycle, a wrong bit was corrected.
    inject : In(:class:`InjectSignature`).array(3)
    patrol, patrolled
        See :class:`Trigger`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    trigger : Trigger
    credit_window : CreditWindow
    criticality : Criticality
    engine : DmaEngine
    outside_view : OutsideView
    """

    def __init__(self, p: T3Parameters, number: int):
        self._p, self._number = p, number
        super().__init__(
            {
                "registers": In(ContextRegistersSignature(p)),
                "outside": Out(ContextSignature(p)),
                "completions": In(stream.Signature(Completion(p))),
                "segments": Out(stream.Signature(Segment(p))).array(p.channels),
                "view": Out(ContextView(p)),
                "tick": In(1),
                "held_up": In(p.channels),
                "sends": In(1),
                "idle": In(1),
                "active": Out(1),
                "relaxed": Out(1),
                "critical": Out(1),
                "congested": Out(1),
                "sent": Out(1),
                "own_idle": Out(1),
                "over": In(1),
                "clearing": Out(1),
                "errors": Out(ErrorSignature(p)).array(4),
                "corrected": Out(1),
                "inject": In(InjectSignature()).array(3),
                "patrol": In(1),
                "patrolled": Out(1),
            }
        )
        self.trigger = Trigger(p)
        self.credit_window = CreditWindow(p)
        self.criticality = Criticality(p)
        self.engine = DmaEngine(p)
        self.outside_view = OutsideView(p)

    def elaborate(self, platform):
        m = Module()
        rooms = {
            "trigger": self.trigger,
            "credit_window": self.credit_window,
            "criticality": self.criticality,
            "outside_view": self.outside_view,
            "engine": self.engine,
        }
        for name, room in rooms.items():
            m.submodules[name] = may_sleep(room, platform)
        self._connect_streams(m)
        self._configure(m)
        self._control_flow(m)
        self._guide(m)
        self._show(m)
        self._report(m)
        self._look_outside(m)
        return m

    def _look_outside(self, m: Module) -> None:
        """What comes from the downstream GPU and from the dispatcher."""
        registers, outside, view = self.registers, self.outside, self.outside_view
        launch = registers.launch_configuration
        m.d.comb += [
            view.launch.eq(registers.launch),
            view.launched.eq(registers.launched),
            view.launch_generation.eq(launch.generation),
            view.credit_limit_in.eq(outside.credit_limit_in),
            view.generation_in.eq(outside.generation_in),
            view.aborted_in.eq(outside.aborted_in),
            view.dispatched.eq(outside.dispatched),
            view.finished.eq(outside.finished),
            view.kernel_generation.eq(outside.kernel_generation),
            outside.generation.eq(view.generation),
            outside.aborted.eq(registers.aborted),
        ]
        trigger, engine = self.trigger, self.engine
        ended = view.ended >= launch.workgroups
        m.d.comb += registers.over.eq(
            ~registers.launched | (self.over & trigger.idle & engine.over & ended)
        )

    def _connect_streams(self, m: Module) -> None:
        engine = self.engine
        complete, trigger = self.completions, self.trigger
        m.d.comb += [
            trigger.completions.valid.eq(complete.valid & ~self.registers.aborting),
            trigger.completions.p.eq(complete.p),
            # What is dropped does not hold up the other contexts'.
            complete.ready.eq(trigger.completions.ready | self.registers.aborting),
        ]
        wiring.connect(m, trigger.ready, engine.ready)
        wiring.connect(m, wiring.flipped(self.registers.copies), engine.copies)
        for outside, inside in zip(self.inject, trigger.inject, strict=True):
            wiring.connect(m, wiring.flipped(outside), inside)
        for inside, outside in zip(engine.segments, self.segments, strict=True):
            wiring.connect(m, inside, wiring.flipped(outside))

    def _configure(self, m: Module) -> None:
        registers = self.registers
        launch_configuration = registers.launch_configuration
        m.d.comb += [
            self.trigger.maps.eq(registers.maps),
            self.trigger.clear.eq(registers.abort),
            self.engine.aborting.eq(registers.aborting),
            self.credit_window.aborting.eq(registers.aborting),
            self.criticality.aborting.eq(registers.aborting),
            self.engine.maps.eq(registers.maps),
            self.engine.launch_configuration.eq(launch_configuration),
            self.engine.remote_space.eq(registers.address_space.remote),
            self.engine.credit_limit_in.eq(self.outside_view.admitted),
            self.credit_window.launch_configuration.eq(launch_configuration),
            self.credit_window.launch.eq(registers.launch),
            self.credit_window.tick.eq(self.tick),
            self.criticality.launch_configuration.eq(launch_configuration),
            self.criticality.launch.eq(registers.launch),
            self.criticality.tick.eq(self.tick),
        ]

    def _control_flow(self, m: Module) -> None:
        """What the credit window follows."""
        trigger, credit_window = self.trigger, self.credit_window
        m.d.comb += [
            credit_window.complete.eq(trigger.complete),
            credit_window.complete_dispatch_index.eq(trigger.complete_dispatch_index),
            credit_window.own.eq(trigger.own),
            credit_window.issued.eq(self.engine.issued),
            credit_window.credit_limit_in.eq(self.outside_view.admitted),
            credit_window.unfinished.eq(~self.idle & ~self.sends),
        ]

    def _guide(self, m: Module) -> None:
        """What the arbiters are told."""
        criticality, credit_window = self.criticality, self.credit_window
        m.d.comb += [
            criticality.dispatched.eq(self.outside_view.given_out),
            criticality.finished.eq(self.outside_view.ended),
            criticality.issued.eq(self.engine.issued),
            criticality.oldest.eq(credit_window.oldest),
            criticality.dispatch_limit.eq(credit_window.dispatch_limit),
            criticality.held_up.eq(self.held_up),
        ]
        m.d.comb += [
            getattr(self, name).eq(getattr(criticality, name))
            for name in ("active", "relaxed", "critical", "congested")
        ]

    def _show(self, m: Module) -> None:
        """To the channels, to software and to the ports."""
        registers, outside, view = self.registers, self.outside, self.view
        trigger, credit_window = self.trigger, self.credit_window
        m.d.comb += [
            view.aborting.eq(registers.aborting),
            view.launched.eq(registers.launched),
            view.former.eq(registers.former),
            view.address_space.eq(registers.address_space),
            view.inbound.eq(registers.inbound),
            view.maps.eq(registers.maps),
            view.launch_configuration.eq(registers.launch_configuration),
            view.oldest.eq(credit_window.oldest),
            view.credit_limit.eq(credit_window.credit_limit),
            self.sent.eq(self.engine.idle),
            self.own_idle.eq(self.engine.idle & trigger.idle),
            self.clearing.eq(trigger.clearing),
            self.corrected.eq(trigger.corrected),
            trigger.patrol.eq(self.patrol),
            self.patrolled.eq(trigger.patrolled),
            outside.credit_limit_out.eq(credit_window.credit_limit),
            outside.dispatch_limit.eq(credit_window.dispatch_limit),
        ]
        for reader in (registers, outside):
            m.d.comb += [reader.tiles.eq(trigger.tiles), reader.done.eq(credit_window.done)]
        m.d.comb += [
            registers.oldest.eq(credit_window.oldest),
            registers.credit_limit.eq(credit_window.credit_limit),
        ]

    def _report(self, m: Module) -> None:
        *errors, peer = self.errors
        sources = (self.trigger, self.credit_window, self.engine)
        for error, source in zip(errors, sources, strict=True):
            m.d.comb += [
                error.valid.eq(source.error.valid),
                error.report.eq(source.error.report),
            ]
        m.d.comb += [
            peer.valid.eq(self.outside_view.gave_up),
            peer.report.code.eq(ErrorCode.PEER_ABORTED),
            *(error.report.owner.eq(self._number) for error in self.errors),
        ]
