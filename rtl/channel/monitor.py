"""Monitor of a channel: counts the outstanding work of each context."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

from .outstanding_counter import OutstandingCounter

__all__ = ["ChannelMonitor", "OwnedEvent"]


def OwnedEvent(p: T3Parameters):
    """Event of a context in this cycle."""
    return data.StructLayout({"valid": 1, "owner": p.owner_bits})


class ChannelMonitor(wiring.Component):
    """Monitor of a channel: counts the outstanding stores, updates, copies and packets of each
    context.

    A packet counts from its check on, if it is accepted: a packet in the inbound queue is like one
    on the link, so that packets which a context refuses keep it busy no more than packets that
    never come. Only those that wait there while the context's tables change hold up what follows
    upon the change: they were located by the tables before.

    Every output depends on registers, and so on the events up to the last cycle. ``idle``,
    ``dma_idle``, ``drained`` and ``stores_drained`` also depend on the inputs ``lane_idle``,
    ``remote``, ``changes`` and ``inbound``.

    Members
    -------
    store : In(:func:`OwnedEvent`)
        A store of a mapped buffer arrives.
    update, copy : In(:func:`OwnedEvent`)
        The check accepts an update or an end-of-tile marker, or a copy (plain write), of a packet.
    store_retired : In(:func:`OwnedEvent`)
        A store no longer counts as outstanding: it was dropped or has no owner.
    routed : In(:func:`OwnedEvent`)
        A store enters the queue of remote stores, or is dropped there.
    marked : In(:func:`OwnedEvent`)
        The tracker accepts an end-of-tile marker.
    lost : In(:func:`OwnedEvent`)
        An issue acknowledgement was dropped.
    counted : In(:func:`OwnedEvent`)
        The tracker accepts ``count`` issued updates.
    count : In(4)
    written : In(:func:`OwnedEvent`)
        The DRAM has issued a write of the communication stream.
    to_link, from_link : In(:func:`OwnedEvent`)
        A packet enters or leaves the queue in front of the link.
    updated, reduced : In(:func:`OwnedEvent`)
        The DRAM has issued an update, which the reduce unit has to perform; the reduce unit takes
        the update. With data only.
    changes : In(contexts)
        Packets of the context that are in the inbound queue were located by tables that no longer
        hold. See :func:`~rtl.interface.configuration.ContextView`.
    inbound : In(2)
        Packets of all contexts in the inbound queue.
    checked : In(1)
        A packet leaves the inbound queue.
    lane_idle : In(contexts)
        The context's DMA lane is idle.
    remote : In(contexts)
        Stores of the context wait for the link.
    memory_owes : In(1)
        See :class:`~rtl.interface.signatures.ChannelSignature`.
    stale : Out(1)
        The memory has owed something in every cycle since the reset: acknowledgements and data
        belong to accesses from before the reset. No context is drained. Register.
    dma_idle : Out(contexts)
        The context has no DMA work in this channel, and no packet in the queue in front of the
        link.
    idle : Out(contexts)
        The context has no DMA work and no packet for the link in this channel, none of its stores
        is outstanding between the port and the issue acknowledgement or the tracker, and none of
        its packets between the check and these; and no packet waits in the inbound queue since
        before the last of the ``changes``.
    drained : Out(contexts)
        The context is idle except for packets in the queue in front of the link.
    stores_drained : Out(contexts)
        No store or update of the context is outstanding that arrived before the last cycle, or
        waits for the reduce unit, and no packet waits in the inbound queue since before the last of
        the ``changes``.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    outstanding, copies_outstanding, unreduced : list of OutstandingCounter
        Counters of each context: of stores and updates, of copies, and of updates that wait for
        the reduce unit. The last list is empty without data.
    on_link : list of Signal
        Packets of each context in the queue in front of the link.
    older : list of Signal
        Packets, of any context, that came before the last of a context's ``changes`` and are still
        in the inbound queue.
    """

    def __init__(self, p: T3Parameters):
        event = In(OwnedEvent(p))
        names = ("store", "update", "copy", "store_retired", "routed")
        names += ("marked", "lost", "counted", "written", "to_link", "from_link")
        names += ("updated", "reduced") if p.with_data else ()
        super().__init__(
            {
                **dict.fromkeys(names, event),
                "count": In(4),
                "changes": In(p.contexts),
                "inbound": In(2),
                "checked": In(1),
                "lane_idle": In(p.contexts),
                "remote": In(p.contexts),
                "memory_owes": In(1),
                "stale": Out(1, init=1),
                "dma_idle": Out(p.contexts),
                "idle": Out(p.contexts),
                "drained": Out(p.contexts),
                "stores_drained": Out(p.contexts),
                "clock_enable": Out(1),
            }
        )
        self.outstanding = [OutstandingCounter(begins=2, ends=4) for _ in range(p.contexts)]
        self.copies_outstanding = [OutstandingCounter(begins=1, ends=1) for _ in range(p.contexts)]
        self.unreduced = [
            OutstandingCounter(begins=1, ends=1) for _ in range(p.contexts if p.with_data else 0)
        ]
        self.on_link, self.older = (
            [Signal(2, name=f"{name}_{number}") for number in range(p.contexts)]
            for name in ("on_link", "older")
        )

    def elaborate(self, platform):
        m = Module()
        for number in range(len(self.on_link)):
            self._count(m, number)
            self._report(m, number)
        counts = (*self.outstanding, *self.copies_outstanding, *self.unreduced)
        ends = self.stale & ~self.memory_owes
        with m.If(ends):
            m.d.sync += self.stale.eq(0)
        m.d.comb += self.clock_enable.eq(
            Cat(
                ends,
                self.to_link.valid,
                self.from_link.valid,
                self.changes.any() & Cat(self.inbound, self.checked, *self.older).any(),
                self.checked & Cat(self.older).any(),
                *(count.clock_enable for count in counts),
            ).any()
        )
        return m

    def _count(self, m: Module, number: int) -> None:
        m.submodules[f"outstanding_{number}"] = outstanding = self.outstanding[number]
        m.submodules[f"copies_outstanding_{number}"] = copies = self.copies_outstanding[number]
        on_link = self.on_link[number]

        def mine(*events: data.View) -> Value:
            return Cat(event.valid & (event.owner == number) for event in events)

        m.d.comb += [
            outstanding.begin.eq(mine(self.store, self.update)),
            outstanding.end.eq(mine(self.store_retired, self.routed, self.marked, self.lost)),
            outstanding.end_count.eq(Mux(mine(self.counted), self.count, 0)),
            copies.begin.eq(mine(self.copy)),
            copies.end.eq(mine(self.written)),
        ]
        if self.unreduced:
            m.submodules[f"unreduced_{number}"] = unreduced = self.unreduced[number]
            m.d.comb += [
                unreduced.begin.eq(mine(self.updated)),
                unreduced.end.eq(mine(self.reduced)),
            ]
        m.d.sync += on_link.eq(on_link + mine(self.to_link) - mine(self.from_link))
        older = self.older[number]
        with m.If(self.changes[number]):
            m.d.sync += older.eq(self.inbound - self.checked)
        with m.Elif(self.checked & older.any()):
            m.d.sync += older.eq(older - 1)

    def _report(self, m: Module, number: int) -> None:
        outstanding, copies = self.outstanding[number], self.copies_outstanding[number]
        former = self.older[number].any() | (self.changes[number] & self.inbound.any())
        leaves, none = self.on_link[number].any(), outstanding.none & ~former
        if self.unreduced:
            none &= self.unreduced[number].none
        m.d.comb += [
            self.stores_drained[number].eq(none),
            self.dma_idle[number].eq(self.lane_idle[number] & ~leaves),
            self.drained[number].eq(
                none & copies.none & self.lane_idle[number] & ~self.remote[number] & ~self.stale
            ),
            self.idle[number].eq(self.drained[number] & ~leaves),
        ]
