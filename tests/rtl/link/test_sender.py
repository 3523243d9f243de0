import pytest
from amaranth.sim import Simulator

from rtl.link.parameters import LinkParameters
from rtl.link.sender import LinkSender

LINK = LinkParameters(
    replay_depth=8,
    receive_depth=8,
    sequence_bits=6,
    timeout_cycles=16,
    idle_cycles=8,
    down_cycles=32,
    lifetime_cycles=8,
)


class Sender:
    """A sender whose ``o`` is always taken; ``sent`` has ``(cycle, number, packet)``."""

    def __init__(self):
        self.dut = LinkSender(8, LINK)
        self.sent, self.progress, self.replays = [], [], []
        self.firsts = []  # flag of each sent packet
        self._cycle = 0

    def run(self, bench):
        sim = Simulator(self.dut)
        sim.add_clock(1e-9)

        async def run(ctx):
            self._ctx = ctx
            ctx.set(self.dut.o.ready, 1)
            ctx.set(self.dut.advance, 1)
            await bench(self)

        sim.add_testbench(run)
        sim.run()
        return self

    async def step(self, cycles=1, *, packet=None, continues=False, reverse=None):
        """Offer a packet, which may continue the one before it, and drive an acknowledgement, a
        limit and whether one is missing, in the first of the cycles."""
        ctx, dut = self._ctx, self.dut
        for index in range(cycles):
            first = index == 0
            ctx.set(dut.packets.valid, first and packet is not None)
            ctx.set(dut.packets.p, {"continues": first and continues, "item": packet or 0})
            ctx.set(dut.reverse.valid, first and reverse is not None)
            fields = zip(("acknowledge", "limit", "missing"), reverse or (0, 0), strict=False)
            ctx.set(dut.reverse.p, {"missing": 0, **dict(fields)})
            if ctx.get(dut.o.valid):
                self.sent.append((self._cycle, ctx.get(dut.o.p.sequence), ctx.get(dut.o.p.item)))
                self.firsts.append(ctx.get(dut.o.p.first))
            if ctx.get(dut.progress):
                self.progress.append(self._cycle)
            if ctx.get(dut.replay):
                self.replays.append(self._cycle)
            self._cycle += 1
            await ctx.tick()

    def has_space(self):
        return self._ctx.get(self.dut.packets.ready)

    def numbers(self, since=0):
        return [number for cycle, number, _ in self.sent if cycle >= since]


@pytest.mark.parametrize("delay", range(48))
def test_acknowledged_at_any_time(delay):
    """An acknowledgement counts before, during and after a replay: acknowledged packets are not
    sent again, the rest is."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(6):
            await sender.step(packet=100 + number)
        await sender.step(1 + delay)
        await sender.step(reverse=(4, 30))
        await sender.step(6)
        await sender.step(packet=106)
        await sender.step(40)

    sender = Sender().run(bench)
    (accepted,) = sender.progress
    assert sender.numbers()[:6] == list(range(6))
    assert all(packet == 100 + number for _, number, packet in sender.sent)
    # A packet read in the cycle of the acknowledgement is at o one cycle later.
    assert min(sender.numbers(accepted + 2)) == 4
    assert set(sender.numbers(accepted + 2)) == {4, 5, 6}
    for cycle in sender.replays:
        oldest = 4 if cycle > accepted else 0
        assert sender.numbers(cycle + 2)[0] == oldest or cycle + 2 > accepted


@pytest.mark.parametrize("acknowledge", range(1, 9))
def test_acknowledgement_of_a_full_memory(acknowledge):
    """With as many packets outstanding as are kept, none of the rest is sent twice."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(LINK.replay_depth):
            await sender.step(packet=number)
        await sender.step(4)
        assert sender.numbers() == [*range(8)]
        assert not sender.has_space()
        await sender.step(reverse=(acknowledge, 30))
        # There is space for as many packets as were acknowledged.
        await sender.step(4)
        for number in range(acknowledge):
            assert sender.has_space()
            await sender.step(packet=100 + number)
        await sender.step(2)
        assert sender.numbers() == [*range(8 + acknowledge)]

    sender = Sender().run(bench)
    assert len(sender.progress) == 1


def test_numbers_wrap():
    """More packets than numbers, with a limit that is ahead by the most that it may be."""

    async def bench(sender):
        numbers = 1 << LINK.sequence_bits
        for number in range(3 * numbers):
            limit = (number + LINK.receive_depth) % numbers
            await sender.step(2, reverse=(number % numbers, limit))
            await sender.step(packet=number % 256)
            await sender.step(3)
        assert sender.numbers() == [number % numbers for number in range(3 * numbers)]

    Sender().run(bench)


def test_goes_back_only_if_something_is_missing():
    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        await sender.step(packet=1)
        await sender.step(8)
        await sender.step(60, reverse=(1, 30))

    sender = Sender().run(bench)
    assert sender.numbers() == [0]
    assert not sender.replays


@pytest.mark.parametrize("oldest", range(6))
@pytest.mark.parametrize("late", [0, 1])
def test_missing(oldest, late):
    """The sender goes back at once, and only once however often the other side repeats the request;
    a request for a later packet makes it go back again."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(6):
            await sender.step(packet=100 + number)
        await sender.step(6 + late)
        for _ in range(7):
            await sender.step(2, reverse=(oldest, 30, 1))
        assert sender.numbers() == [*range(6), *range(oldest, 6)]
        await sender.step(6, reverse=(5, 30, 1))
        assert sender.numbers()[-1:] == [5]

    sender = Sender().run(bench)
    assert len(sender.replays) == (1 if oldest == 5 else 2)
    assert all(packet == 100 + number for _, number, packet in sender.sent)
    reported = 4 + 6 + 6 + late
    assert sender.replays[0] in (reported + 2, reported + 3)
    assert (sender.replays[0] + 2, oldest) in [(c, n) for c, n, _ in sender.sent]


def test_missing_once_more():
    """A packet that is lost again arrives after the timeout: until then no request is made."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        await sender.step(packet=1)
        await sender.step(4)
        for _ in range(2 * LINK.timeout_cycles):
            await sender.step(reverse=(0, 30, 1))

    sender = Sender().run(bench)
    first, second, *_ = sender.replays
    assert LINK.timeout_cycles <= second - first <= LINK.timeout_cycles + 4


def test_missing_that_was_not_sent():
    """Requests of a packet that has not left, or was acknowledged, are ignored."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 2))
        for number in range(4):
            await sender.step(packet=number)
        await sender.step(6, reverse=(2, 2, 1))
        await sender.step(6, reverse=(1, 2, 1))
        assert sender.numbers() == [0, 1]

    sender = Sender().run(bench)
    assert not sender.replays


def test_replay_period():
    """The sender replays after every timeout, until all is acknowledged."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        await sender.step(packet=1)
        await sender.step(100)

    sender = Sender().run(bench)
    times = [cycle for cycle, _, _ in sender.sent]
    steps = [second - first for first, second in zip(times, times[1:], strict=False)]
    assert len(times) >= 5
    assert all(LINK.timeout_cycles <= step <= LINK.timeout_cycles + 4 for step in steps)


def test_credits():
    """Nothing is sent at or beyond the limit; an older limit does not take one back."""

    async def bench(sender):
        for number in range(8):
            await sender.step(packet=number)
        await sender.step(10)
        assert not sender.sent
        await sender.step(10, reverse=(0, 3))
        assert sender.numbers() == [0, 1, 2]
        await sender.step(2, reverse=(0, 5))
        await sender.step(3, reverse=(0, 4))
        await sender.step(6)
        assert sender.numbers() == [0, 1, 2, 3, 4]

    Sender().run(bench)


@pytest.mark.parametrize("acknowledge", [63, 60, 40, 6, 7, 20])
def test_impossible_acknowledgement(acknowledge):
    """Acknowledgements behind the last one, or beyond the taken packets, are ignored."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(5):
            await sender.step(packet=number)
        await sender.step(8)
        await sender.step(8, reverse=(acknowledge, 30))

    sender = Sender().run(bench)
    assert sender.numbers() == [0, 1, 2, 3, 4]
    assert not sender.progress


def test_runs():
    """A packet that continues the one before it has no header if it leaves right behind it."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(6):
            await sender.step(packet=number, continues=number not in (0, 4))

    sender = Sender().run(bench)
    assert sender.numbers() == [*range(4)]

    async def to_the_end(sender):
        await bench(sender)
        await sender.step(4)

    sender = Sender().run(to_the_end)
    assert sender.firsts == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("pause", range(1, 5))
def test_no_run_waits_for_a_packet(pause):
    """A packet that comes after a pause has a header, though it continues the one before it."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(4):
            await sender.step(1 + (number == 1) * pause, packet=number, continues=number > 0)
        await sender.step(8)

    sender = Sender().run(bench)
    assert sender.numbers() == [*range(4)]
    assert sender.firsts == [1, 0, 1, 0]


@pytest.mark.parametrize("limit", range(1, 6))
def test_runs_end_at_the_limit(limit):
    async def bench(sender):
        await sender.step(4, reverse=(0, limit))
        for number in range(6):
            await sender.step(packet=number, continues=number > 0)
        await sender.step(6)
        assert sender.numbers() == [*range(limit)]
        await sender.step(10, reverse=(limit, 30))
        assert sender.numbers() == [*range(6)]

    sender = Sender().run(bench)
    assert sender.firsts == [number in (0, limit) for number in range(6)]


@pytest.mark.parametrize("oldest", range(6))
def test_a_replay_begins_with_a_header(oldest):
    """A replay may begin in the middle of a run."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(6):
            await sender.step(packet=number, continues=number > 0)
        await sender.step(8)
        await sender.step(8 + 6, reverse=(oldest, 30, 1))

    sender = Sender().run(bench)
    assert sender.numbers() == [*range(6), *range(oldest, 6)]
    begins = [number == 0 for number in range(6)] + [n == oldest for n in range(oldest, 6)]
    assert sender.firsts == begins


@pytest.mark.parametrize("delay", range(12))
def test_no_run_goes_across_a_jump(delay):
    """Wherever the sender goes back while it sends a run, a packet without a header has the next
    number of the packet before it, in the cycle after that."""

    async def bench(sender):
        await sender.step(4, reverse=(0, 30))
        for number in range(8):
            reverse = (2, 30, 1) if number == delay else None
            await sender.step(packet=number, continues=number > 0, reverse=reverse)
        for cycle in range(8, 16):
            reverse = (2, 30, 1) if cycle == delay else None
            await sender.step(reverse=reverse)
        await sender.step(8)

    sender = Sender().run(bench)
    assert set(sender.numbers()) == set(range(8)) and sender.firsts[0]
    pairs = zip(sender.sent, sender.sent[1:], sender.firsts[1:], strict=False)
    for (before, number, _), (cycle, following, _), first in pairs:
        assert first or (following, cycle) == (number + 1, before + 1)
