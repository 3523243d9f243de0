"""Free inputs and stream checks for the ports of a block."""

from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Module, Signal, Value, ValueLike

__all__ = ["assert_held", "free", "moves"]


def free(m: Module, *inputs: ValueLike) -> None:
    """Give inputs an arbitrary value in every cycle."""
    for one in map(Value.cast, inputs):
        m.d.comb += one.eq(AnySeq(len(one)))


def moves(stream) -> Value:
    """Signal that a payload is transferred in this cycle."""
    return stream.valid & stream.ready


def assert_held(m: Module, stream, name: str) -> None:
    """Assert that an offered payload stays until it is taken."""
    offered = Signal(name=f"{name}_offered")
    payload = Signal.like(stream.p, name=f"{name}_payload")
    m.d.sync += [offered.eq(stream.valid & ~stream.ready), payload.eq(stream.p)]
    with m.If(offered):
        m.d.comb += [
            Assert(stream.valid, f"{name}: an offer is withdrawn"),
            Assert(stream.p == payload, f"{name}: an offer changes"),
        ]
