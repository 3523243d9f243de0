"""Small component with the top's ports."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO

from rtl.interface.encodings import Access, Origin
from rtl.interface.signatures import T3Signature
from rtl.parameters import T3Parameters

__all__ = ["Toy"]


class Toy(wiring.Component):
    """Component whose input streams leave on other streams through FIFOs; registers count and echo.

    Reads go to ``dram``, stores to ``link_out`` with their dispatch index as ``atom``; ``stored``
    sums the returned slots, ``tiles`` counts cycles, ``credit_limit_out`` is the first peer's limit
    one cycle later, and ``rdata`` is the word that the bus wrote last. With data, ``nmc_out`` is
    the stored value of ``nmc_in``.
    """

    def __init__(self, parameters: T3Parameters):
        self._parameters = parameters
        super().__init__(T3Signature(parameters))

    def elaborate(self, platform):
        m = Module()
        for context in self.context:
            m.d.sync += [
                context.tiles.eq(context.tiles + 1),
                context.credit_limit_out.eq(context.credit_limit_in[0]),
            ]
        with m.If(self.bus.wvalid):
            m.d.sync += self.bus.rdata.eq(self.bus.wdata)
        for number, channel in enumerate(self.channel):
            read = self._queue(m, f"reads_{number}", channel.reads, channel.dram)
            store = self._queue(m, f"stores_{number}", channel.stores, channel.link_out)
            odd = Signal()
            m.d.sync += odd.eq(channel.occupancy[0])
            m.d.comb += [
                channel.dram.p.access.eq(Access.READ),
                channel.dram.p.origin.eq(Mux(odd, Origin.COMMUNICATION, Origin.COMPUTE)),
                channel.dram.p.atom.eq(read.atom),
                channel.dram.p.tag.eq(read.tag),
                channel.link_out.p.atom.eq(store.dispatch_index),
                channel.link_out.p.wavefront.eq(store.wavefront),
                channel.link_out.p.data.eq(store.data),
                channel.link_in.ready.eq(1),
                channel.issue_acks.ready.eq(1),
            ]
            with m.If(channel.returns.valid):
                m.d.sync += channel.stored.eq(channel.stored + channel.returns.p.slot)
            if self._parameters.with_data:
                m.d.sync += [
                    channel.nmc_out.valid.eq(channel.nmc_in.valid),
                    channel.nmc_out.p.value.eq(channel.nmc_in.p.stored),
                    channel.nmc_out.p.epoch.eq(channel.nmc_in.p.stored_epoch),
                ]
        return m

    def _queue(self, m, name, source, drain):
        """Queue ``source``, give ``drain`` its handshake, and return the payload at the head."""
        width = Value.cast(source.p).shape().width
        m.submodules[name] = fifo = SyncFIFO(width=width, depth=4)
        m.d.comb += [
            fifo.w_data.eq(source.p),
            fifo.w_en.eq(source.valid),
            source.ready.eq(fifo.w_rdy),
            drain.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(drain.ready),
        ]
        return source.p.shape()(fifo.r_data)
