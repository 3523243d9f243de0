"""Criticality: nothing of before a launch does anything after it."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality

from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]


class LaunchHarness(Elaboratable):
    """Two blocks with any pasts, which from one launch on have the same inputs."""

    def __init__(self, criticality: type = Criticality):
        self._criticality = criticality

    def elaborate(self, platform):
        m = Module()
        m.submodules.one = one = self._criticality(T3Parameters(contexts=1))
        m.submodules.other = other = self._criticality(T3Parameters(contexts=1))
        common, told, meet = Signal(), Signal(), Signal()
        free(m, meet)
        m.d.sync += [common.eq(common | meet), told.eq(common)]
        same = common | meet
        for name in _INPUTS:
            mine, yours = getattr(one, name), getattr(other, name)
            past = Signal.like(Value.cast(mine), name=f"past_{name}")
            free(m, mine, past)
            m.d.comb += Value.cast(yours).eq(Mux(same, Value.cast(mine), past))
        # The launch in which they meet.
        m.d.comb += Assume(common | ~meet | one.launch)

        m.d.comb += [
            Assert(~common | (one.late == other.late), "a verdict of before the launch"),
            *(
                Assert(~told | (getattr(one, name) == getattr(other, name)), f"{name}: of before")
                for name in _OUTPUTS
            ),
            Cover(~common & meet & (one.gone != other.gone), "their pasts differ"),
        ]
        self._relate(m, one, other, common)
        return m

    def _relate(self, m: Module, one: Criticality, other: Criticality, common: Value) -> None:
        """What is the same after the launch."""
        phase = one.phase

        def equal(*names: str) -> Value:
            return Cat(getattr(one, name) == getattr(other, name) for name in names).all()

        def product(index: int) -> Value:
            mine, yours = one.products[index], other.products[index]
            return (mine.sums == yours.sums) & (mine.carries == yours.carries)

        prepared, compared = Signal(), Signal()
        m.d.comb += [
            prepared.eq(equal("gone") & ((phase == 1) | equal("remaining"))),
            compared.eq(
                equal(*_COMPARED) & Cat(product(index) for index in range(len(one.products))).all()
            ),
        ]
        with m.If(common):
            m.d.comb += [
                invariant(equal(*_STATE), "the state is of before"),
                # A launch ends a comparison, so all of one is of after it.
                invariant((phase == 0) | prepared, "another preparation"),
                invariant((phase <= _LOAD) | compared, "another comparison"),
            ]


_LOAD = 3
_INPUTS = (
    "launch_configuration", "launch", "tick", "dispatched", "finished", "issued", "oldest",
    "dispatch_limit",
)  # fmt: skip
_OUTPUTS = ("active", "relaxed", "critical")
_STATE = (
    "launched", "changed", "phase", "fraction", "elapsed", "finished_seen", "finish_time", "sent",
    "measuring", "group", "group_time", "link_time", "late",
)  # fmt: skip
_COMPARED = (
    "finished_taken", "workgroups_taken", "link_time_taken", "finished_bits", "finish_time_bits",
    "elapsed_bits", "shifted", "overdue", "less", "kernel_before", "kernel_carry",
)  # fmt: skip

PROOFS = (
    Proof(
        name="criticality-launch",
        statement="A launch forgets all: whatever was before it, from the next cycle on the "
        "verdict, and from the one after on the outputs, are those that the inputs since the "
        "launch make",
        blocks=(Criticality,),
        harness=LaunchHarness,
        geometry="the reference's",
        depth=1,
        cover_depth=10,
    ),
)
