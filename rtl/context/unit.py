"""Unit of a context: trigger unit, flow control and DMA engine."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.engine import DmaEngine
from rtl.interface.configuration import ContextView, LaunchProgress
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import Completion, Segment
from rtl.interface.signatures import ContextSignature, ErrorSignature
from rtl.lib.gating import clock_gated
from rtl.lib.injection import InjectSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters
from rtl.registers.context_signature import ContextRegistersSignature
from rtl.trigger.credit_window import CreditWindow
from rtl.trigger.criticality import Criticality
from rtl.trigger.range_limits import RangeLimits
from rtl.trigger.trigger import Trigger

from .external_status import ExternalStatus
from .peer_status import PeerStatus

__all__ = ["UNIT_ERRORS", "ContextUnit"]

UNIT_ERRORS = (
    (ErrorCode.TIMEOUT,),
    (ErrorCode.PEER_ABORTED,),
    (ErrorCode.PORT_DOWN,),
    (ErrorCode.TRIGGER_CORRUPT,),
    (ErrorCode.DMA_OUT_OF_REGION,),
)
"""Codes of each of a unit's errors, the rarest first."""


class ContextUnit(wiring.Component):
    """Context unit: turns complete tiles into segments for the channels, and controls the flow.

    Parameters
    ----------
    number : int
        Number of the context.

    Members
    -------
    registers : In(:class:`ContextRegistersSignature`)
        Registers of the context. The top drives ``idle``, ``clearing`` and ``error``.
    outside : Out(:class:`ContextSignature`)
        Ports of the context at the top, without ``idle`` and ``irq``.
    completions : In(stream)
        Completions from the tracker.
    segments : Out(stream).array(channels)
        Segments for the DMA lanes.
    view : Out(:func:`ContextView`)
        State of the context for the channels.
    tick : In(1)
        Tick of the GPU's timebase.
    held_up : In(channels)
        See :class:`Criticality`.
    sends : In(1)
        A packet of the context leaves in this cycle.
    idle : In(1)
        No work of the context is left in the hardware.
    active, relaxed, critical, congested : Out(1)
        See :class:`Criticality`.
    dma_idle, own_idle, clearing : Out(1)
        ``dma_idle``: no command is in the DMA engine. ``own_idle``: besides, no command and no
        complete tile is in this unit. ``clearing``: the counts are being cleared.
    stores_drained : In(1)
        No tile, store or update of the launch is left outside this unit.
    progress : Out(:func:`LaunchProgress`)
        Progress of the launch, for the contexts that await it.
    awaited : In(array of :func:`LaunchProgress`)
        Progress of each context.
    aborts : In(await_bits)
        Strobe for each context: it is aborted.
    errors : Out(:class:`ErrorSignature`).array(5)
        Errors of the credit window, the peers, the ports, the trigger unit and the DMA engine.
    corrected : Out(1)
        A bit error was corrected in this cycle.
    inject : In(:class:`InjectSignature`).array(3)
    scrub, scrub_corrected
        See :class:`Trigger`.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    trigger : Trigger
    credit_window : CreditWindow
    range_limits : RangeLimits
    criticality : Criticality
    engine : DmaEngine
    external_status : ExternalStatus
    peer_status : list of PeerStatus
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
                "dma_idle": Out(1),
                "own_idle": Out(1),
                "stores_drained": In(1),
                "clearing": Out(1),
                "progress": Out(LaunchProgress(p)),
                "awaited": In(data.ArrayLayout(LaunchProgress(p), p.contexts)),
                "aborts": In(p.await_bits),
                "errors": Out(ErrorSignature(p)).array(len(UNIT_ERRORS)),
                "corrected": Out(1),
                "inject": In(InjectSignature()).array(3),
                "scrub": In(1),
                "scrub_corrected": Out(1),
            }
        )
        self.trigger = Trigger(p)
        self.credit_window = CreditWindow(p)
        self.range_limits = RangeLimits(p)
        self.criticality = Criticality(p)
        self.engine = DmaEngine(p)
        self.external_status = ExternalStatus(p)
        self.peer_status = [PeerStatus(p) for _ in range(p.peers)]

    def elaborate(self, platform):
        m = Module()
        blocks = {
            "trigger": self.trigger,
            "credit_window": self.credit_window,
            "range_limits": self.range_limits,
            "criticality": self.criticality,
            "external_status": self.external_status,
            "engine": self.engine,
            **{f"peer_status_{index}": peer for index, peer in enumerate(self.peer_status)},
        }
        for name, block in blocks.items():
            m.submodules[name] = clock_gated(block)
        self._connect_streams(m)
        self._configure(m)
        self._control_flow(m)
        self._guide(m)
        self._show(m)
        self._report(m)
        self._look_outside(m)
        self._look_at_peers(m)
        return m

    def _look_outside(self, m: Module) -> None:
        """Connect the status from the dispatcher and the ports."""
        registers, outside, view = self.registers, self.outside, self.external_status
        launch = registers.launch_configuration
        m.d.comb += [
            view.launch.eq(registers.launch),
            view.launch_generation.eq(launch.generation),
            view.cut_short.eq(registers.cut_short),
            view.copies.eq(registers.copies.valid & registers.copies.ready),
            view.lost.eq(outside.lost),
            view.launched.eq(registers.launched),
            view.aborting.eq(registers.aborting),
            view.oldest.eq(self.credit_window.oldest),
            view.done.eq(self.credit_window.done),
            self.progress.eq(view.progress),
            view.dispatched.eq(outside.dispatched),
            view.finished.eq(outside.finished),
            view.kernel_generation.eq(outside.kernel_generation),
            outside.generation.eq(view.generation),
            outside.aborted.eq(view.aborted),
        ]
        trigger, engine = self.trigger, self.engine
        ended = view.ended >= launch.workgroups
        m.d.comb += registers.launch_drained.eq(
            ~registers.launched | (self.stores_drained & trigger.idle & engine.tables_free & ended)
        )

    def _look_at_peers(self, m: Module) -> None:
        """Connect the status from the peers."""
        registers, outside = self.registers, self.outside
        for index, peer in enumerate(self.peer_status):
            m.d.comb += [
                peer.enable.eq(registers.peers[index].enable),
                peer.launch.eq(registers.launch),
                peer.launched.eq(registers.launched),
                peer.launch_generation.eq(registers.launch_configuration.generation),
                peer.generation.eq(self.external_status.generation),
                peer.credit_limit_in.eq(outside.credit_limit_in[index]),
                peer.generation_in.eq(outside.generation_in[index]),
                peer.aborted_in.eq(outside.aborted_in[index]),
                registers.peer_launches[index].eq(peer.peer_launch),
                self.range_limits.admitted[index].eq(peer.admitted),
            ]

    def _connect_streams(self, m: Module) -> None:
        engine = self.engine
        complete, trigger = self.completions, self.trigger
        m.d.comb += [
            trigger.completions.valid.eq(complete.valid & ~self.registers.aborting),
            trigger.completions.p.eq(complete.p),
            # Completions of an aborted context are dropped, so they do not block other contexts.
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
            self.engine.limits.eq(self.range_limits.limits),
            self.range_limits.ranges.eq(registers.maps.ranges),
            self.range_limits.launch.eq(registers.launch),
            self.range_limits.aborting.eq(registers.aborting),
            self.range_limits.progress.eq(self.awaited),
            self.range_limits.may_await.eq(registers.may_await),
            self.range_limits.aborts.eq(self.aborts),
            self.range_limits.pending.eq(registers.pending),
            self.credit_window.launch_configuration.eq(launch_configuration),
            self.credit_window.launch.eq(registers.launch),
            self.credit_window.tick.eq(self.tick),
            self.criticality.launch_configuration.eq(launch_configuration),
            self.criticality.launch.eq(registers.launch),
            self.criticality.tick.eq(self.tick),
        ]

    def _control_flow(self, m: Module) -> None:
        """Connect the inputs of the credit window and of the range limits."""
        trigger, credit_window, limits = self.trigger, self.credit_window, self.range_limits
        changes = Cat(credit_window.changes, *(peer.clock_enable for peer in self.peer_status))
        m.d.comb += [
            credit_window.complete.eq(trigger.complete),
            credit_window.complete_dispatch_index.eq(trigger.complete_dispatch_index),
            credit_window.own.eq(trigger.own),
            credit_window.issued.eq(self.engine.issued),
            limits.credit_limit.eq(credit_window.credit_limit),
            limits.changes.eq(changes.any()),
            credit_window.released.eq(limits.releases),
            # A launch that waits counts as work, whose progress is the end of workgroups; so does a
            # closed gate, for which a kernel waits that may have no tiles.
            credit_window.unfinished.eq(
                (
                    ~self.idle
                    | (self.registers.pending & ~self.external_status.progresses)
                    | limits.waits.any()
                )
                & ~self.sends
            ),
        ]

    def _guide(self, m: Module) -> None:
        """Connect the criticality unit, which guides the arbiters."""
        criticality, credit_window = self.criticality, self.credit_window
        m.d.comb += [
            criticality.dispatched.eq(self.external_status.kernel_dispatched),
            criticality.finished.eq(self.external_status.ended),
            criticality.issued.eq(self.engine.issued),
            criticality.busy.eq(~self.engine.idle),
            criticality.oldest.eq(credit_window.oldest),
            criticality.dispatch_limit.eq(self.range_limits.dispatch_limit),
            criticality.held_up.eq(self.held_up),
        ]
        m.d.comb += [
            getattr(self, name).eq(getattr(criticality, name))
            for name in ("active", "relaxed", "critical", "congested")
        ]

    def _show(self, m: Module) -> None:
        """Connect status to the channels, to the registers and to the ports."""
        registers, outside, view = self.registers, self.outside, self.view
        trigger, credit_window = self.trigger, self.credit_window
        m.d.comb += [
            view.aborting.eq(registers.aborting),
            view.launched.eq(registers.launched),
            view.former.eq(registers.former),
            view.changes.eq(registers.changes),
            view.address_space.eq(registers.address_space),
            view.rank.eq(registers.rank),
            view.peers.eq(registers.peers),
            view.inbound.eq(registers.inbound),
            view.maps.eq(registers.maps),
            view.wavefronts.eq(registers.wavefronts),
            view.slots.eq(registers.slots),
            view.launch_configuration.eq(registers.launch_configuration),
            view.oldest.eq(credit_window.oldest),
            view.credit_limit.eq(credit_window.credit_limit),
            self.dma_idle.eq(self.engine.idle),
            self.own_idle.eq(self.engine.idle & trigger.idle),
            self.clearing.eq(trigger.clearing),
            self.corrected.eq(trigger.corrected),
            trigger.scrub.eq(self.scrub),
            self.scrub_corrected.eq(trigger.scrub_corrected),
            outside.credit_limit_out.eq(credit_window.credit_limit),
            outside.dispatch_limit.eq(self.range_limits.dispatch_limit),
        ]
        for reader in (registers, outside):
            m.d.comb += [reader.tiles.eq(trigger.tiles), reader.done.eq(credit_window.done)]
        m.d.comb += [
            registers.oldest.eq(credit_window.oldest),
            registers.credit_limit.eq(credit_window.credit_limit),
            registers.reports.eq(credit_window.reports),
        ]

    def _report(self, m: Module) -> None:
        timeout, peer, port, corrupt, outside = self.errors
        sources = ((timeout, self.credit_window), (corrupt, self.trigger), (outside, self.engine))
        for error, source in sources:
            m.d.comb += [
                error.valid.eq(source.error.valid),
                error.report.eq(source.error.report),
            ]
        # An awaited context has this GPU's own rank.
        aborts = Cat(*(status.aborts for status in self.peer_status), self.range_limits.fails)
        ranks = [entry.rank for entry in self.registers.peers]
        ranks += [self.registers.rank] * len(self.range_limits.fails)
        m.d.comb += [
            peer.valid.eq(aborts.any()),
            peer.report.code.eq(ErrorCode.PEER_ABORTED),
            peer.report.source.eq(one_hot_select(one_hot_first(aborts), ranks)),
            port.valid.eq(self.external_status.reports_loss),
            port.report.code.eq(ErrorCode.PORT_DOWN),
            port.report.source.eq(self.outside.lost_gpu),
            port.report.channel.eq(self.outside.lost_port),
            *(error.report.owner.eq(self._number) for error in self.errors),
        ]
