"""Channel: no context's stores wait for the link of another one."""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.channel import STORES_ON_THEIR_WAY, Channel
from rtl.interface.encodings import Access, Origin, Policy, Target

from .channel import PARAMETERS_OF_TWO, constant, free_ports
from .held import held, held_in_memory
from .invariant import invariant
from .proof import Proof
from .streams import free

__all__ = ["PROOFS"]

_P = PARAMETERS_OF_TWO
_LATE = 2  # cycles after which a store may still come
_LONGEST = 6


class StoresHarness(Elaboratable):
    """The link takes packets when it likes, and of each context perhaps none for ever. The DRAM
    takes an access in every cycle, and the tracker an end-of-tile marker.

    Assumed, as the port asks for it: a store of a context comes only while there is room for its
    stores, or there was in one of the two cycles before. The policy is one under which compute
    does not wait for more than one other access.
    """

    def __init__(self, channel: type = Channel):
        self._channel = channel

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._channel(_P)
        free_ports(m, dut)
        free(m, dut.link_out.ready, dut.contexts)
        for lane in dut.segments:
            free(m, lane.valid, lane.p)
        constant(m, dut.arbiter)
        policy = dut.arbiter.policy
        rooms = self._rooms(m, dut)
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
            Assert(waited <= _LONGEST, "a store waits for too long"),
            Cover(waited == 2, "a store waits"),
        ]
        self._cover(m, dut)
        self._relate_room(m, dut, rooms)
        self._relate_times(m, dut, waited)
        return m

    def _rooms(self, m: Module, dut: Channel) -> list[Signal]:
        """Whether there was room in the last cycles, of each context; and no store without it."""
        store, rooms = dut.stores, []
        owned = Const(0, 1)  # by a context of a lower number
        for number, view in enumerate(dut.contexts):
            room = Signal(_LATE, name=f"had_room_{number}")
            mine = view.address_space.enable & (view.address_space.local == store.p.context)
            m.d.sync += room.eq(Cat(dut.stores_room[number], room))
            m.d.comb += Assume(
                ~(store.valid & mine & ~owned) | dut.stores_room[number] | room.any()
            )
            owned |= mine
            rooms.append(room)
        return rooms

    def _cover(self, m: Module, dut: Channel) -> None:
        """Of a context whose link was never open, stores wait; another one's go on."""
        closed, written = Signal(init=1), Signal()
        request = dut.dram
        with m.If(dut.link_room[1]):
            m.d.sync += closed.eq(0)
        m.d.comb += [
            written.eq(
                request.valid
                & (request.p.access == Access.UPDATE)
                & (request.p.origin == Origin.COMPUTE)
                & (request.p.owner == 0)
            ),
            Cover(closed & ~dut.stores_room[1] & written, "an update of the other context"),
            Cover(
                closed & (dut.remote[1].level > _P.remote_depth - STORES_ON_THEIR_WAY + 2),
                "stores come without room",
            ),
        ]

    def _relate_room(self, m: Module, dut: Channel, rooms: list[Signal]) -> None:
        """All that may leave over the link finds room there: what waits, and what comes to it."""
        stores, classified = (held(m, getattr(dut.queues, name), name) for name in _STAGES)
        depth = _P.remote_depth
        for number, (queue, room) in enumerate(zip(dut.remote, rooms, strict=True)):
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
                invariant(total <= depth, f"{number}: more stores than room"),
                invariant(~room[0] | (total <= depth - 2), f"{number}: a cycle after room"),
                invariant(~room[1] | (total <= depth - 1), f"{number}: two cycles after room"),
            ]

    def _relate_times(self, m: Module, dut: Channel, waited: Signal) -> None:
        """Each stage is full because the next one is, and the last one because compute waits."""
        queues, merge, arbiter = dut.queues, dut.access_merge, dut.access_merge.arbiter
        writes, issue, ends = queues.writes, queues.issue, queues.ends
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
            m.d.comb += [
                invariant((stage.level != stage.depth) | (time <= cause), "full for no cause"),
                invariant(time <= longest, "full for too long"),
            ]
        m.d.comb += [
            invariant(writes.level <= writes.depth, "writes: level"),
            invariant(ends.level <= 1, "ends: level"),
            invariant(issue.level <= 1, "the DRAM takes every access"),
            invariant(waited <= times[0], "waits though there is room"),
            invariant((unserved == 0) | (writes.level != 0), "none waits"),
            invariant(arbiter.compute_starved <= 1, "compute waits for two"),
            invariant(
                (arbiter.compute_starved == 0) | (arbiter.last == Origin.COMMUNICATION),
                "not its turn",
            ),
            invariant(
                unserved <= arbiter.compute_starved + Mux(merge.compute.last, 0, 2),
                "writes wait for too long",
            ),
        ]

    def _full(self, m: Module, queue, name: str) -> Value:
        """Cycles before this one in which a queue was full all the time."""
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
        statement="If the stores of each context come only while stores_room of it is on, or was "
        f"in one of the two cycles before, a store waits for {_LONGEST} cycles at most, whatever "
        "the link takes of whichever context, also none for ever",
        blocks=(Channel,),
        harness=StoresHarness,
        geometry="2 contexts, 9 remote stores of each, a DRAM and a tracker that take one in each "
        "cycle, round robin or compute first, 4 workgroups, addresses of 3 bits",
        reason="no width is looked at; a slower DRAM or tracker stretches the time",
        depth=1,
        cover_depth=20,
        slow=True,
    ),
)
