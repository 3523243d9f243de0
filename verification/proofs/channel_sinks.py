"""Proof of the channel: incoming packets are accepted, independently of the egress."""

from functools import partial

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.channel.channel import Channel
from rtl.interface.encodings import Origin, PacketKind, Policy
from rtl.parameters import T3Parameters

from .channel import PARAMETERS, PARAMETERS_OF_TWO, constant, free_ports
from .invariant import invariant
from .proof import Proof
from .streams import free, moves

__all__ = ["PROOFS"]

_MOST_STARVED = 3  # largest starvation limit of the proof
_LONGEST = 2 * (_MOST_STARVED + 2) + 1


class SinkHarness(Elaboratable):
    """Harness with a DRAM and a tracker that are ready in every cycle and an egress that may be
    blocked forever.

    The policy is an arbitrary constant, and the starvation limit a constant of up to 3. All other
    inputs are arbitrary.
    """

    def __init__(self, channel: type = Channel, *, p: T3Parameters):
        self._channel = channel
        self._p = p

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._channel(self._p)
        free_ports(m, dut)
        free(m, dut.link_out.ready, dut.contexts)
        for lane in dut.segments:
            free(m, lane.valid, lane.p)
        constant(m, dut.arbiter)
        policy, limit = dut.arbiter.policy, Signal(range(_MOST_STARVED + 2))
        is_critical = policy == Policy.CRITICAL
        starvation_limit = dut.arbiter.starvation_limit
        m.d.comb += [
            dut.dram.ready.eq(1),
            dut.end_of_tile_markers.ready.eq(1),
            Assume(starvation_limit <= _MOST_STARVED),
            # Under round robin, a request lets one other access pass. CRITICAL may begin to take
            # turns when a request that let none pass has waited for the limit; 0 acts like 1.
            limit.eq(
                Mux(_in_turn(policy), 1, Mux(starvation_limit == 0, 1, starvation_limit))
                + is_critical
            ),
        ]

        waited = Signal(range(_LONGEST + 2))
        blocked = Signal()
        with m.If(dut.link_in.valid & ~dut.link_in.ready):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        m.d.sync += blocked.eq(dut.link_out.valid & ~dut.link_out.ready)
        m.d.comb += [
            Assert(waited <= 2 * (limit + 1) + 1, "an incoming packet waits too long"),
            Cover(
                moves(dut.queues.ends.packets) & (waited == 1), "a marker of a packet has its turn"
            ),
            Cover((waited == 3) & blocked, "a packet waits while egress is blocked"),
            Cover(
                moves(dut.link_in) & blocked & (waited != 0),
                "a packet is accepted during the block",
            ),
        ]
        self._invariants(m, dut, limit, waited)
        return m

    def _invariants(self, m: Module, dut: Channel, limit: Value, waited: Value) -> None:
        """Relate the time that updates have waited to the state of arbiter and merge."""
        queues, arbiter = dut.queues, dut.access_merge.arbiter
        inbound, updates, issue = queues.inbound, queues.updates, queues.issue
        merge = dut.access_merge.communication
        unserved = Signal(range(_LONGEST + 1))  # cycles in which updates wait and none passes
        with m.If(updates.o.valid & ~updates.o.ready):
            m.d.sync += unserved.eq(unserved + 1)
        with m.Else():
            m.d.sync += unserved.eq(0)
        full, stuck = updates.level == updates.depth, inbound.level == inbound.depth
        ends, is_marker = queues.ends, inbound.o.p.kind == PacketKind.END
        longest = 2 * limit + 1
        for queue, name in ((inbound, "inbound"), (updates, "updates"), (issue, "issue")):
            m.d.comb += invariant(queue.level <= queue.depth, f"{name}: level")
        m.d.comb += [
            invariant(issue.level <= 1, "issue: the DRAM does not take every access"),
            invariant(arbiter.starved <= limit, "communication starves for too long"),
            invariant(
                ~_in_turn(dut.arbiter.policy)
                | (arbiter.starved == 0)
                | (arbiter.last == Origin.COMPUTE),
                "a turn is skipped",
            ),
            invariant(
                (arbiter.starved == 0) | (arbiter.compute_starved == 0), "both streams starve"
            ),
            invariant(
                unserved <= arbiter.starved + Mux(merge.last, limit + 1, 0), "updates wait too long"
            ),
            invariant(~updates.o.valid | updates.level.any(), "updates: valid while empty"),
            invariant((unserved == 0) | (updates.level != 0), "unserved without an update"),
            invariant(
                ~(full & stuck) | is_marker | (waited <= unserved),
                "a packet waits longer than the updates",
            ),
            invariant(ends.queue.level <= 1, "ends: level"),
            # A marker waits for one marker of a store at most.
            invariant(
                ~(stuck & is_marker) | (waited == 0) | ((waited == 1) & ~ends.merge.last),
                "a marker waits for two",
            ),
            invariant(~(~full & stuck) | (waited <= longest + 1), "a packet waits despite space"),
        ]


def _in_turn(policy: Value) -> Value:
    """Signal that the streams take turns: round robin, and codes without a policy."""
    gated = (Policy.COMPUTE_FIRST, Policy.MCA, Policy.MCA_PAPER, Policy.CRITICAL)
    return ~Cat(policy == one for one in gated).any()


def _proof(p: T3Parameters) -> Proof:
    return Proof(
        name="channel-sinks" + ("" if p.contexts == 1 else f"-contexts-{p.contexts}"),
        statement="An incoming packet waits for at most 2 (L + 1) + 1 cycles, where L is the "
        "starvation limit, at least 1, one more under CRITICAL, or 1 under round robin, even if "
        "the egress of any context is blocked forever; hence no link of a ring waits for another "
        "link; this holds for all policies",
        blocks=(Channel,),
        harness=partial(SinkHarness, p=p),
        geometry="L up to 3, a DRAM and a tracker that take one per cycle, 2 egress slots, "
        f"4 workgroups, addresses of 6 bits, contexts: {p.contexts}",
        reason="the proof depends on no width; a slower DRAM or tracker stretches the time",
        depth=2,
        cover_depth=22,
        slow=True,
    )


PROOFS = tuple(map(_proof, (PARAMETERS, PARAMETERS_OF_TWO)))
