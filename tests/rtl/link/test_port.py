"""Port of a link: packets pass while it is up, and are dropped and reported while it is down."""

import random
from dataclasses import replace

import pytest

from rtl.link.port import LinkPort
from tb.link_endpoint.dut import PARAMETERS
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_ports import BUGS_OF_PORTS

P = replace(PARAMETERS, contexts=2)
CHANNELS = 2


class Endpoint:
    """Endpoint that opens and ends sessions, goes down and acknowledges at random times."""

    def __init__(self, rng):
        self._rng = rng
        self.open = self.fails = False
        self.held = 0  # packets that are not acknowledged

    def step(self, restarts, taken):
        """Go to the next cycle, after one in which it took some packets."""
        rng = self._rng
        self.held = self.held + taken if self.open else 0
        if rng.random() < 0.2:
            self.held = 0
        if restarts or (self.open and rng.random() < 0.01):
            self.open = False
        elif not self.open:
            self.open = rng.random() < 0.05
        self.fails = rng.random() < 0.01

    @property
    def holds(self):
        return self.open and self.held > 0


class Model:
    """Independent model: lists of events instead of registers."""

    def __init__(self):
        self.down, self.dropped, self.before = False, 0, False
        self.lost, self.gpu, self.goes_down = set(), 0, False
        self.unacknowledged = set()  # contexts with a packet since all were acknowledged

    def step(self, endpoint, off, taken):
        """Take one cycle; ``taken`` has context and destination of each channel's packet."""
        packets = [one for one in taken if one is not None]
        owners = {owner for owner, _ in packets}
        ends = self.before and not endpoint.open
        self.before = endpoint.open
        self.lost = set(owners) if self.down else set()
        if ends:
            self.lost |= self.unacknowledged
        if not endpoint.holds:
            self.unacknowledged = set()
        if not self.down:
            self.unacknowledged |= owners
        self.dropped += bool(self.down and packets)
        if packets:
            self.gpu = packets[0][1]
        breaks = off or endpoint.fails
        self.goes_down = breaks and not self.down
        self.down = breaks or (self.down and not endpoint.open)


def check(block=LinkPort):
    """Any packets of two channels and contexts, while the link goes down and comes up again."""
    seed = 69
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(P, CHANNELS)
    seen = dict.fromkeys(("passes", "drops", "session ends", "off", "both lose", "acknowledged"), 0)

    async def bench(ctx):
        endpoint, model, offers, off = Endpoint(rng), Model(), [None] * CHANNELS, False
        for _ in range(6000):
            off = rng.random() < (0.9 if off else 0.005)
            for number, port in enumerate(dut.packets):
                if offers[number] is None and rng.random() < 0.3:
                    offers[number] = rng.randrange(2), rng.randrange(128)
                ctx.set(port.valid, offers[number] is not None)
                owner, gpu = offers[number] or (rng.randrange(2), rng.randrange(128))
                packet = {"destination": gpu, "atom": rng.getrandbits(8)}
                ctx.set(port.p, {"owner": owner, "packet": packet})
                ctx.set(dut.o[number].ready, endpoint.open and rng.random() < 0.7)
            for name in ("open", "holds", "fails"):
                ctx.set(getattr(dut, name), getattr(endpoint, name))
            ctx.set(dut.off, off)
            assert ctx.get(dut.down) == model.down
            assert ctx.get(dut.goes_down) == model.goes_down
            assert ctx.get(dut.lost) == sum(1 << context for context in model.lost)
            assert not model.lost or ctx.get(dut.gpu) == model.gpu
            assert ctx.get(dut.dropped) == model.dropped
            assert ctx.get(dut.restart) == (off or endpoint.fails)
            taken, passed = [None] * CHANNELS, 0
            for number, (port, out) in enumerate(zip(dut.packets, dut.o, strict=True)):
                passes = ctx.get(out.valid & out.ready)
                takes = ctx.get(port.valid & port.ready)
                assert passes == (takes and not model.down)
                assert takes or not (model.down and offers[number])  # nothing waits
                if passes:
                    assert ctx.get(out.p.as_value()) == ctx.get(port.p.packet.as_value())
                if takes:
                    taken[number], offers[number] = offers[number], None
                passed += passes
                seen["drops"] += takes and model.down
            ends = model.before and not endpoint.open
            seen["session ends"] += bool(ends and model.unacknowledged)
            seen["off"] += off
            seen["acknowledged"] += bool(model.unacknowledged) and not endpoint.holds
            model.step(endpoint, off, taken)
            seen["both lose"] += len(model.lost) == 2
            seen["passes"] += passed
            endpoint.step(off or endpoint.fails, passed)
            await ctx.tick()
        print(seen)
        assert min(seen.values()) > 10

    run_gated(dut, bench)


def test_against_a_model():
    check()


BUGS = [bug for bug in BUGS_OF_PORTS if bug.block == LinkPort.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 5"):
        LinkPort(5)
