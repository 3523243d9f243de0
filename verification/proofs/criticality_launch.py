"""Proof of the criticality unit: a launch removes every influence of the past."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class LaunchHarness(Elaboratable):
    """Harness of two blocks with arbitrary pasts that have equal inputs from one launch on."""

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._criticality(T3Parameters(contexts=1))
        m.submodules.other = other = self._criticality(T3Parameters(contexts=1))
        common, settled, meet = Signal(), Signal(), Signal()
        free(m, meet)
        m.d.sync += [common.eq(common | meet), settled.eq(common)]
        same = common | meet
        for name in _INPUTS:
            mine, yours = getattr(one, name), getattr(other, name)
            past = Signal.like(Value.cast(mine), name=f"past_{name}")
            free(m, mine, past)
            m.d.comb += Value.cast(yours).eq(Mux(same, Value.cast(mine), past))
        # Both blocks receive this launch.
        m.d.comb += Assume(common | ~meet | one.launch)

        m.d.comb += [
            Assert(~common | (one.late == other.late), "late: depends on the past"),
            *(
                Assert(
                    ~settled | (getattr(one, name) == getattr(other, name)),
                    f"{name}: depends on the past",
                )
                for name in _OUTPUTS
            ),
            Cover(~common & meet & (one.settled != other.settled), "the pasts differ"),
        ]
        self._relate(m, one, other, common)
        return m

    def _relate(self, m: Module, one: Criticality, other: Criticality, common: Value) -> None:
        """Assert the equality of the blocks' states after the launch."""
        phase = one.phase

        def equal(*names: str) -> Value:
            return Cat(getattr(one, name) == getattr(other, name) for name in names).all()

        def product(index: int) -> Value:
            mine, yours = one.products[index], other.products[index]
            return (mine.sums == yours.sums) & (mine.carries == yours.carries)

        prepared, compared = Signal(), Signal()
        m.d.comb += [
            prepared.eq(equal("settled") & ((phase == 1) | equal("remaining"))),
            compared.eq(
                equal(*_COMPARED) & Cat(product(index) for index in range(len(one.products))).all()
            ),
        ]
        with m.If(common):
            m.d.comb += [
                invariant(equal(*_STATE), "the state depends on the past"),
                # A launch ends a running comparison, so every comparison begins after it.
                invariant((phase == 0) | prepared, "the preparation depends on the past"),
                invariant((phase <= _LOAD) | compared, "the comparison depends on the past"),
            ]


_LOAD = 3
_INPUTS = (
    "launch_configuration", "launch", "tick", "dispatched", "finished", "issued", "busy", "oldest",
    "dispatch_limit",
)  # fmt: skip
_OUTPUTS = ("active", "relaxed", "critical")
_STATE = (
    "launched", "changed", "phase", "fraction", "elapsed", "finished_seen", "finish_time", "sent",
    "timed_log2", "measuring", "group", "group_time", "link_time", "late",
)  # fmt: skip
_COMPARED = (
    "finished_taken", "workgroups_taken", "link_time_taken", "finished_bits", "finish_time_bits",
    "elapsed_bits", "shifted", "overdue", "less", "kernel_before", "kernel_carry",
)  # fmt: skip

PROOFS = (
    Proof(
        name="criticality-launch",
        statement="The verdict from the first cycle after a launch on, and the outputs from the "
        "second one on, depend only on the inputs since the launch",
        blocks=(Criticality,),
        harness=LaunchHarness,
        geometry="reference",
        depth=1,
        cover_depth=10,
    ),
)
