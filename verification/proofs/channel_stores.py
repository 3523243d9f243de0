"""Proof of the channel: stores of a context do not wait for the link of another context."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.channel import STORES_IN_FLIGHT, Channel
from rtl.interface.encodings import Access, Origin, Policy, Target

from .channel import PARAMETERS_OF_TWO, constant, free_ports
from .held import held, held_in_memory
from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = PARAMETERS_OF_TWO
_LATE = 2  # cycles in which a store may still come
_LONGEST = 6


class StoresHarness(Elaboratable):
    """Harness with a link that may block the packets of each context forever.

    DRAM and tracker take an access and an end-of-tile marker in every cycle; packets, too, may be
    markers, which take turns with those of stores. As the contract of the
    port requires, a store of a context comes only if there is space for its stores, or was in one
    of the two cycles before; or the context breaks the contract, and its link has no space. Under
    the assumed policies, compute waits for at most one other access.
    """

    def __init__(self, channel: type = Channel):
        self._channel = channel
        self.breaks: list[Signal] = []  # per context: it breaks the contract of ``store_space``

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._channel(_P)
        free_ports(m, dut)
        free(m, dut.link_out.ready, dut.contexts)
        for lane in dut.segments:
            free(m, lane.valid, lane.p)
        constant(m, dut.arbiter)
        policy = dut.arbiter.policy
        spaces = self._spaces(m, dut)
        m.d.comb += [
            dut.dram.ready.eq(1),
            dut.end_of_tile_markers.ready.eq(1),
            Assume((policy == Policy.ROUND_ROBIN) | (policy == Policy.COMPUTE_FIRST)),
        ]
        waited = Signal(range(_LONGEST + 2))
        with m.If(dut.stores.valid & ~dut.stores.ready):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        m.d.comb += [
            Assert(waited <= _LONGEST, "a store waits too long"),
            Cover(waited == 2, "a store waits"),
        ]
        self._cover(m, dut)
        self._relate_space(m, dut, spaces)
        self._relate_times(m, dut, waited)
        return m

    def _spaces(self, m: Module, dut: Channel) -> list[Signal]:
        """Record the space of each context in the last cycles; assume that stores of contexts that
        keep the contract have space, and that the link has none for the others."""
        store, spaces = dut.stores, []
        owned = Const(0, 1)  # owned by a context with a lower number
        for number, view in enumerate(dut.contexts):
            space = Signal(_LATE, name=f"had_space_{number}")
            mine = view.address_space.enable & (view.address_space.local == store.p.context)
            m.d.sync += space.eq(Cat(dut.store_space[number], space))
            breaks = Signal(name=f"breaks_{number}")
            m.d.comb += [
                breaks.eq(AnyConst(1)),
                Assume(
                    ~(store.valid & mine & ~owned) | dut.store_space[number] | space.any() | breaks
                ),
                Assume(~breaks | ~dut.link_space[number]),
            ]
            self.breaks.append(breaks)
            owned |= mine
            spaces.append(space)
        return spaces

    def _cover(self, m: Module, dut: Channel) -> None:
        """Cover waiting stores of a context with a closed link while the other context proceeds."""
        closed, written = Signal(init=1), Signal()
        request = dut.dram
        with m.If(dut.link_space[1]):
            m.d.sync += closed.eq(0)
        m.d.comb += [
            written.eq(
                request.valid
                & (request.p.access == Access.UPDATE)
                & (request.p.origin == Origin.COMPUTE)
                & (request.p.owner == 0)
            ),
            Cover(closed & ~dut.store_space[1] & written, "an update of the other context"),
            Cover(
                closed & (dut.remote[1].level > _P.remote_depth - STORES_IN_FLIGHT + 2),
                "stores come without space",
            ),
            Cover(self.breaks[1] & dut.errors[0].valid & written, "a refused store"),
        ]

    def _relate_space(self, m: Module, dut: Channel, spaces: list[Signal]) -> None:
        """Relate waiting and incoming remote stores to the capacity of their queue."""
        stores, classified = (held(m, getattr(dut.queues, name), name) for name in _STAGES)
        depth = _P.remote_depth
        for number, (queue, space, breaks) in enumerate(
            zip(dut.remote, spaces, self.breaks, strict=True)
        ):
            held_in_memory(m, queue, f"remote_{number}")
            coming = [
                stores.has(index) & entry.location.valid & (entry.location.owner == number)
                for index, entry in enumerate(stores.entries)
            ] + [
                classified.has(index) & (entry.target == Target.REMOTE) & (entry.owner == number)
                for index, entry in enumerate(classified.entries)
            ]
            total = Signal(range(depth + len(coming) + 1), name=f"total_{number}")
            m.d.comb += [
                total.eq(queue.level + sum(coming)),
                invariant(breaks | (total <= depth), f"{number}: overflow"),
                invariant(
                    breaks | ~space[0] | (total <= depth - 2), f"{number}: one cycle after space"
                ),
                invariant(
                    breaks | ~space[1] | (total <= depth - 1), f"{number}: two cycles after space"
                ),
            ]

    def _relate_times(self, m: Module, dut: Channel, waited: Signal) -> None:
        """Relate full stages: each is full because the next is, the last because compute waits."""
        queues, merge, arbiter = dut.queues, dut.access_merge, dut.access_merge.arbiter
        writes, issue, ends = queues.writes, queues.issue, queues.ends
        head = queues.classified.o.p
        is_marker = head.target == Target.END_OF_TILE
        stages = (queues.stores, queues.classified, writes)
        times = [self._full(m, stage, name) for stage, name in zip(stages, _TIMES, strict=True)]
        unserved = Signal(range(_LONGEST + 2))
        with m.If(writes.o.valid & ~writes.o.ready):
            m.d.sync += unserved.eq(unserved + 1)
        with m.Else():
            m.d.sync += unserved.eq(0)
        for longest, stage, time, cause in zip(
            range(_LONGEST, 0, -1), stages, times, (*times[1:], unserved), strict=False
        ):
            # A marker waits for one marker of a packet at most.
            turn = Mux(is_marker, time <= 1, time <= cause)
            m.d.comb += [
                invariant(
                    (stage.level != stage.depth)
                    | (turn if stage is queues.classified else time <= cause),
                    "a stage is full without cause",
                ),
                invariant(time <= longest, "a stage is full for too long"),
            ]
        m.d.comb += [
            invariant(writes.level <= writes.depth, "writes: level"),
            invariant(ends.queue.level <= 1, "ends: level"),
            invariant(
                (queues.classified.level != queues.classified.depth)
                | ~is_marker
                | (times[1] == 0)
                | ends.merge.last,
                "a marker waits for two",
            ),
            invariant(issue.level <= 1, "issue: the DRAM does not take every access"),
            invariant(waited <= times[0], "a store waits despite space"),
            invariant((unserved == 0) | (writes.level != 0), "unserved without a write"),
            invariant(arbiter.compute_starved <= 1, "compute waits for two accesses"),
            invariant(
                (arbiter.starved == 0) | (arbiter.compute_starved == 0), "both streams starve"
            ),
            invariant(
                (arbiter.compute_starved == 0) | (arbiter.last == Origin.COMMUNICATION),
                "a turn is skipped",
            ),
            invariant(
                unserved <= arbiter.compute_starved + Mux(merge.compute.last, 0, 2),
                "writes wait too long",
            ),
        ]

    def _full(self, m: Module, queue, name: str) -> Value:
        """Number of consecutive cycles before this one in which a queue was full."""
        time = Signal(range(_LONGEST + 2), name=name)
        with m.If(queue.level == queue.depth):
            m.d.sync += time.eq(time + 1)
        with m.Else():
            m.d.sync += time.eq(0)
        return time


_STAGES = ("stores", "classified")
_TIMES = ("stores_full", "classified_full", "writes_full")

PROOFS = (
    Proof(
        name="channel-stores",
        statement="If stores of a context come only while its store_space is high, or was high in "
        "one of the two cycles before, or while the link has no space for the context, a store "
        f"waits for at most {_LONGEST} cycles, even if the link blocks the packets of any context "
        "forever",
        blocks=(Channel,),
        harness=StoresHarness,
        geometry="2 contexts, 9 remote stores of each, a DRAM and a tracker that are ready in "
        "every cycle, round robin or compute first, 4 workgroups, addresses of 6 bits",
        reason="the proof depends on no width; a slower DRAM or tracker stretches the time",
        depth=1,
        cover_depth=20,
        slow=True,
    ),
)
