# amaranth: UnusedElaboratable=no
"""Whether anything of a context is left to do in a channel."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

from .under_way import UnderWay

__all__ = ["ChannelWatch", "OwnedEvent"]


def OwnedEvent(p: T3Parameters):
    """Something happens in this cycle, to what is a context's."""
    return data.StructLayout({"valid": 1, "owner": p.owner_bits})


class ChannelWatch(wiring.Component):
    """Counts, for each context, what is on its way through a channel.

    Every output follows registers, and what came in the last cycle; ``idle``, ``sent`` and
    ``gone`` the inputs as well that tell what waits.

    Parameters
    ----------
    p : T3Parameters

    Members
    -------
    store, update, copy : In(:func:`OwnedEvent`)
        A store of a mapped buffer, a packet that is an update, or one that only is to be written,
        comes.
    store_over, update_over, copy_over : In(:func:`OwnedEvent`)
        Such a one leaves, and is not waited for any longer: it is dropped, or for nobody.
    routed : In(:func:`OwnedEvent`)
        A store leaves for the queue of those that go over the link, or is dropped there.
    marked : In(:func:`OwnedEvent`)
        The tracker takes an end-of-tile marker.
    lost : In(:func:`OwnedEvent`)
        An issue acknowledgement was dropped.
    counted : In(:func:`OwnedEvent`)
        The tracker takes ``count`` issued updates.
    count : In(4)
    written : In(:func:`OwnedEvent`)
        The DRAM has issued a write of the communication stream.
    to_link, from_link : In(:func:`OwnedEvent`)
        A packet enters the queue before the link, or leaves it.
    lane_idle : In(contexts)
        The context's DMA lane holds nothing.
    remote : In(contexts)
        Stores of the context wait for the link.
    sent : Out(contexts)
        Of the context no DMA work is here, and nothing waits for the link.
    idle : Out(contexts)
        Of the context no DMA work is here, nothing waits for the link, and no store or packet of a
        mapped buffer is between its port and the DRAM's acknowledgement, or the tracker.
    gone : Out(contexts)
        As ``idle``, but for packets in the queue before the link.
    over : Out(contexts)
        No store of a mapped buffer and no update is on that way, of those that came before the
        last cycle.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    under_way, copies_under_way : list of UnderWay
        One for each context: of stores and updates, and of what only is to be written.
    on_link : list of Signal
        Packets of each context in the queue before the link.
    """

    def __init__(self, p: T3Parameters):
        event = In(OwnedEvent(p))
        names = ("store", "update", "copy", "store_over", "update_over", "copy_over", "routed")
        names += ("marked", "lost", "counted", "written", "to_link", "from_link")
        super().__init__(
            {
                **dict.fromkeys(names, event),
                "count": In(4),
                "lane_idle": In(p.contexts),
                "remote": In(p.contexts),
                "sent": Out(p.contexts),
                "idle": Out(p.contexts),
                "gone": Out(p.contexts),
                "over": Out(p.contexts),
                "awake": Out(1),
            }
        )
        self.under_way = [UnderWay(begins=2, ends=5) for _ in range(p.contexts)]
        self.copies_under_way = [UnderWay(begins=1, ends=2) for _ in range(p.contexts)]
        self.on_link = [Signal(2, name=f"on_link_{number}") for number in range(p.contexts)]

    def elaborate(self, platform):
        m = Module()
        for number in range(len(self.on_link)):
            self._count(m, number)
            self._tell(m, number)
        counts = (*self.under_way, *self.copies_under_way)
        m.d.comb += self.awake.eq(
            Cat(self.to_link.valid, self.from_link.valid, *(count.awake for count in counts)).any()
        )
        return m

    def _count(self, m: Module, number: int) -> None:
        m.submodules[f"under_way_{number}"] = under_way = self.under_way[number]
        m.submodules[f"copies_under_way_{number}"] = copies = self.copies_under_way[number]
        on_link = self.on_link[number]

        def mine(*events: data.View) -> Value:
            return Cat(event.valid & (event.owner == number) for event in events)

        m.d.comb += [
            under_way.begin.eq(mine(self.store, self.update)),
            under_way.end.eq(
                mine(self.store_over, self.routed, self.marked, self.update_over, self.lost)
            ),
            under_way.end_count.eq(Mux(mine(self.counted), self.count, 0)),
            copies.begin.eq(mine(self.copy)),
            copies.end.eq(mine(self.copy_over, self.written)),
        ]
        m.d.sync += on_link.eq(on_link + mine(self.to_link) - mine(self.from_link))

    def _tell(self, m: Module, number: int) -> None:
        under_way, copies = self.under_way[number], self.copies_under_way[number]
        leaves = self.on_link[number].any()
        m.d.comb += [
            self.over[number].eq(under_way.none),
            self.sent[number].eq(self.lane_idle[number] & ~leaves),
            self.gone[number].eq(
                under_way.none & copies.none & self.lane_idle[number] & ~self.remote[number]
            ),
            self.idle[number].eq(self.gone[number] & ~leaves),
        ]
