"""The tracker's front: events of all channels, distributed over the banks."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import TileUpdates, TrackerInput
from .parameters import T3Parameters
from .round_robin import Merge2, RoundRobinPick

__all__ = ["TrackerFront"]


class TrackerFront(wiring.Component):
    """Gives every bank one event per cycle, fairly over the channels.

    A channel offers one event per cycle: updates of a tile or a tile end, in turn. The tile's
    place and wavefront decide about its bank, so that tiles of one workgroup lie in different
    ones; each bank chooses among the channels in turn. All combinational, so ``ready`` of an
    input depends on ``valid`` of all of them.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``channels`` and ``banks`` give the number of inputs and outputs.

    Members
    -------
    notices, ends : In(stream).array(channels)
        Issued updates, and tile ends.
    o : Out(stream).array(banks)
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "notices": In(stream.Signature(TileUpdates(p))).array(p.channels),
                "ends": In(stream.Signature(TrackerInput(p))).array(p.channels),
                "o": Out(stream.Signature(TrackerInput(p))).array(p.banks),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        bank_bits = (p.banks - 1).bit_length()

        candidates = []
        banks = []
        for channel, (notice, end) in enumerate(zip(self.notices, self.ends, strict=True)):
            m.submodules[f"merge_{channel}"] = merge = Merge2(TrackerInput(p))
            m.d.comb += [
                merge.a.valid.eq(notice.valid),
                merge.a.p.place.eq(notice.p.place),
                merge.a.p.wavefront.eq(notice.p.wavefront),
                merge.a.p.atom.eq(notice.p.atom),
                merge.a.p.count.eq(notice.p.count),
                notice.ready.eq(merge.a.ready),
            ]
            wiring.connect(m, merge.b, wiring.flipped(end))
            candidates.append(merge.o)
            # A wavefront's lowest bit turns the bank's highest: away from the next places' tiles.
            turn = Cat(Const(0, bank_bits), merge.o.p.wavefront[::-1])[p.wavefront_bits :]
            bank = Signal(bank_bits, name=f"bank_{channel}")
            m.d.comb += bank.eq(merge.o.p.place ^ turn)
            banks.append(bank)

        for bank, out in enumerate(self.o):
            m.submodules[f"pick_{bank}"] = pick = RoundRobinPick(p.channels)
            m.d.comb += [
                pick.requests.eq(
                    Cat(c.valid & (b == bank) for c, b in zip(candidates, banks, strict=True))
                ),
                pick.take.eq(out.ready),
                out.valid.eq(pick.valid),
            ]
            with m.Switch(pick.pick):
                for channel, candidate in enumerate(candidates):
                    with m.Case(channel) if channel < p.channels - 1 else m.Default():
                        m.d.comb += out.p.eq(candidate.p)
            for channel, candidate in enumerate(candidates):
                with m.If(pick.valid & (pick.pick == channel)):
                    m.d.comb += candidate.ready.eq(out.ready)
        return m
