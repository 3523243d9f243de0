"""Proofs of a link's port: packets pass while the link is up, and are dropped and reported else."""

from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal

from rtl.link.port import LinkPort
from rtl.parameters import T3Parameters

from .clock_gating import clock_gating
from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=2, address_bits=20, tile_atom_bits=7, workgroup_bits=2, wavefronts=2, sets=2
)
_CHANNELS = 2
_SIZE = "2 channels, 2 contexts"


class PortHarness(Elaboratable):
    """Harness with any endpoint: it opens and ends sessions, and acknowledges, at any time.

    Observes one context, and one of its packets that is not acknowledged.
    """

    def __init__(self, port: type = LinkPort):
        self._port = port

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._port(_P, _CHANNELS)
        free(m, dut.off, dut.open, dut.holds, dut.fails)
        for source, sink in zip(dut.packets, dut.o, strict=True):
            free(m, source.valid, source.p, sink.ready)
        who = Signal(range(_P.contexts))
        m.d.comb += who.eq(AnyConst(len(who)))
        mine = [moves(source) & (source.p.owner == who) for source in dut.packets]
        # The link is down from the cycle after `restart` on, until a session is open.
        is_down, was_open, drops = Signal(), Signal(), Signal()
        m.d.sync += [
            is_down.eq(dut.off | dut.fails | (is_down & ~dut.open)),
            was_open.eq(dut.open),
            drops.eq(is_down & Cat(mine).any()),
        ]
        pending, ended = Signal(), Signal()  # a packet that is not acknowledged
        with m.If(AnySeq(1) & ~is_down & Cat(mine).any()):
            m.d.sync += pending.eq(1)
        with m.Elif(~dut.holds | ~dut.open):
            m.d.sync += pending.eq(0)
        m.d.sync += ended.eq(was_open & ~dut.open & pending)
        reported = dut.lost.bit_select(who, 1)
        for source, sink in zip(dut.packets, dut.o, strict=True):
            m.d.comb += [
                Assert(
                    ~moves(sink) | (moves(source) & ~is_down), "a packet passes while it is down"
                ),
                Assert(~moves(source) | moves(sink) | is_down, "a packet is lost while it is up"),
                Assert(~(is_down & source.valid) | source.ready, "a packet waits while it is down"),
                Assert(~moves(sink) | (sink.p == source.p.packet), "a packet changes"),
            ]
        m.d.comb += [
            Assert(dut.restart == (dut.off | dut.fails), "the session goes on"),
            Assert(~drops | reported, "a dropped packet is not reported"),
            Assert(~ended | reported, "a packet that was not acknowledged is not reported"),
            invariant(dut.down == is_down, "down: another state"),
            invariant(~pending | dut.unsure.bit_select(who, 1), "unsure: a context is missing"),
            Cover(drops & (dut.lost == 3), "both contexts lose a packet"),
            Cover(ended & ~drops, "a session ends with a packet that is not acknowledged"),
            Cover(Mux(is_down, dut.open, 0), "the link is up again"),
        ]
        return m


PROOFS = (
    Proof(
        name="link-port",
        statement="While the link is up, each packet that is taken passes unchanged in its cycle; "
        "while it is down, each packet is dropped at once and reported to its context, as is the "
        "end of a session with a packet that was not acknowledged",
        blocks=(LinkPort,),
        harness=PortHarness,
        geometry=_SIZE,
        depth=2,
        cover_depth=6,
    ),
    clock_gating("link-port", "a link's port", LinkPort, _P, _CHANNELS, geometry=_SIZE),
)
