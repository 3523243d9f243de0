"""Near-memory reduce unit: reduces an update into a memory atom."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import Datatype
from rtl.interface.layouts import NmcRequest, NmcResult
from rtl.parameters import T3Parameters

from .lane import ReduceLane

__all__ = ["NmcUnit"]


class NmcUnit(wiring.Component):
    """Reduce unit: performs the op-and-store of an atom.

    An atom whose stored epoch is not the current epoch holds older data: the operand replaces it,
    bit for bit, so the memory need not be cleared before a reduction, unless the launch
    accumulates. Otherwise the result is
    ``op(stored, operand)`` lane by lane, as :class:`ReduceLane` computes it. Lane *i* processes the
    atom's *i*-th number, lowest bits first. The result carries the epoch of its request: a change
    of ``epoch`` or ``accumulates`` does not affect earlier requests.

    A result leaves ``LATENCY`` cycles after its request arrived, one per cycle; both streams are
    always ready. ``o`` comes from registers. An unassigned operation acts as MIN, an unassigned
    data type as FP32.

    Members
    -------
    i : In(stream of NmcRequest)
    o : Out(stream of NmcResult)
    epoch : In(8)
        Current epoch.
    accumulates : In(1)
        Data of any epoch count as data of the current one.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    valid : Signal
        Stages with a request, the first stage in the lowest bit; the output counts as a further
        stage.
    moves : Signal
        Stages whose registers move to the next stage: ``valid``, and all stages after a reset.

    Raises
    ------
    ValueError
        If the parameters are for hardware without data.
    """

    LATENCY = ReduceLane.LATENCY + 1

    def __init__(self, parameters: T3Parameters):
        if not isinstance(parameters, T3Parameters):
            raise TypeError(f"Parameters must be T3Parameters, not {parameters!r}")
        if not parameters.with_data:
            raise ValueError(
                f"with_data of the parameters must be True, not {parameters.with_data!r}"
            )
        super().__init__(
            {
                "i": In(stream.Signature(NmcRequest(parameters), always_ready=True)),
                "o": Out(stream.Signature(NmcResult(parameters), always_ready=True)),
                "epoch": In(8),
                "accumulates": In(1),
                "clock_enable": Out(1),
            }
        )
        self.valid = Signal(ReduceLane.LATENCY)
        self.moves = Signal(ReduceLane.LATENCY, init=-1)

    def elaborate(self, platform):
        m = Module()
        request = self.i.p
        replace = Signal()
        m.d.comb += replace.eq((request.stored_epoch != self.epoch) & ~self.accumulates)

        # A wide lane processes a word or its lower half, a narrow lane its upper half.
        wide = ~((request.dtype == Datatype.FP16) | (request.dtype == Datatype.BF16))
        comes, stages = self.i.valid, range(1, ReduceLane.LATENCY + 1)
        # As in the lanes, the first stage loads a request, and later stages follow.
        beside = [Signal(len(self.epoch) + 1, name=f"beside_{stage}") for stage in stages]
        with m.If(comes):
            m.d.sync += beside[0].eq(Cat(self.epoch, wide))
        m.d.sync += [later.eq(one) for one, later in pairwise(beside)]
        epoch, wide = beside[-1][:-1], beside[-1][-1]

        m.d.sync += [
            Cat(self.valid, self.o.valid).eq(Cat(comes, self.valid)),
            self.moves.eq(Cat(comes, self.moves)),
            self.o.p.epoch.eq(epoch),
        ]
        m.d.comb += self.clock_enable.eq(comes | self.moves.any() | self.o.valid)
        for index in range(len(Value.cast(request.stored)) // 32):
            stored = Value.cast(request.stored).word_select(index, 32)
            operand = Value.cast(request.operand).word_select(index, 32)
            value = Value.cast(self.o.p.value).word_select(index, 32)
            lower = ReduceLane([Datatype.FP16, Datatype.BF16, Datatype.FP32])
            upper = ReduceLane([Datatype.FP16, Datatype.BF16])
            m.submodules[f"lower_{index}"] = lower
            m.submodules[f"upper_{index}"] = upper
            m.d.comb += [
                lower.stored.eq(stored),
                lower.operand.eq(operand),
                upper.stored.eq(stored[16:]),
                upper.operand.eq(operand[16:]),
            ]
            for lane in (lower, upper):
                m.d.comb += [
                    lane.valid.eq(comes),
                    lane.replace.eq(replace),
                    lane.op.eq(request.op),
                    lane.dtype.eq(request.dtype),
                ]
            m.d.sync += value.eq(Cat(lower.value[:16], Mux(wide, lower.value[16:], upper.value)))
        return m
