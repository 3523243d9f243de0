"""The criticality unit on its ports: kernels and links of a known pace."""

import pytest

from rtl.interface.timebase import TICK_CYCLES
from rtl.parameters import T3Parameters
from rtl.trigger.criticality import Criticality
from tests.support.simulation import device
from tests.support.simulation import simulate as simulate_device

P = T3Parameters(contexts=1, workgroup_bits=10, sets=4, credit_window=512)
WORKGROUPS, FIRST, WINDOW = 200, 20, 512
CONFIGURATION = {
    "workgroups": WORKGROUPS,
    "tracked_first": FIRST,
    "to_send": WORKGROUPS,
    "credit_window": WINDOW,
}
MOST = (1 << P.credit_limit_bits) - 1
UNIT = 1024  # cycles in which the kernel's time is measured
DELAY = 2 * TICK_CYCLES + 2  # cycles in which a change must have been compared
RESIDENT = 16
GROUP = 4  # workgroups whose sending is timed at once: 200 / 4 groups


class Bench:
    """The unit between a dispatcher and an engine. In cycle 0 of each period there is a tick.

    Attributes
    ----------
    now : int
        Cycles so far.
    """

    def __init__(self, ctx, dut):
        self.ctx, self.dut = ctx, dut
        self.now = 0
        ctx.set(dut.launch_configuration, CONFIGURATION)
        self.drive(dispatch_limit=MOST, busy=1)

    def drive(self, **inputs):
        for name, value in inputs.items():
            self.ctx.set(getattr(self.dut, name), value)

    async def wait(self, cycles):
        for _ in range(cycles):
            self.drive(tick=self.now % TICK_CYCLES == 0)
            await self.ctx.tick()
            self.now += 1

    async def strobe(self, name):
        self.drive(**{name: 1})
        await self.wait(1)
        self.drive(**{name: 0})

    async def send_group(self):
        """Launch, and send workgroups until a group's time is known; then the engine rests."""
        await self.strobe("launch")
        self.drive(issued=1, busy=1)
        await self.wait(GROUP + 1)
        self.drive(issued=0, busy=0)

    async def progress(self, finished, *, dispatched=None, oldest=None):
        """Set the number of workgroups that have ended."""
        dispatched = min(finished + RESIDENT, WORKGROUPS) if dispatched is None else dispatched
        oldest = finished if oldest is None else oldest
        self.drive(dispatched=dispatched, finished=finished, oldest=oldest)
        await self.wait(1)

    @property
    def outputs(self):
        names = ("active", "relaxed", "critical")
        return {name for name in names if self.ctx.get(getattr(self.dut, name))}


def simulate(bench):
    dut = device(Criticality, P)

    async def run(ctx):
        await bench(Bench(ctx, dut))

    simulate_device(dut, run)


def verdict(now, finished, sent, kernel_pace, link_pace):
    """Compute from the paces if the link takes over three quarters of the kernel's time; None where
    the unit's grain may decide.

    A workgroup's end is known to a unit of time, which is extrapolated over the whole kernel; the
    time of a group of workgroups to a tick.
    """
    left = WORKGROUPS - FIRST - sent
    link = left * link_pace
    kernel = (WORKGROUPS * kernel_pace - now) * 3 / 4
    grain = UNIT * (WORKGROUPS / max(finished, 1) + 1) + DELAY + TICK_CYCLES * (left / GROUP + 1)
    if abs(link - kernel) <= grain:
        return None
    return link > kernel


@pytest.mark.parametrize(
    ("kernel_pace", "link_pace", "expected"),
    [
        pytest.param(150, 20, False, marks=pytest.mark.verify),
        (150, 75, False),
        (150, 220, True),
        pytest.param(100, 160, True, marks=pytest.mark.verify),
    ],
)
def test_late_where_the_link_needs_most_of_the_kernel_s_time(kernel_pace, link_pace, expected):
    """The link's pace is known from its first group on."""
    seen = []

    async def run(bench):
        await bench.strobe("launch")
        begin, sent, verdicts = bench.now, 0, []
        for cycle in range(WORKGROUPS * kernel_pace - 1):
            finished = cycle // kernel_pace
            if cycle % kernel_pace == 0:
                bench.drive(
                    dispatched=min(finished + RESIDENT, WORKGROUPS),
                    finished=finished,
                    oldest=finished,
                )
            # The link has always something to send, from the first tracked workgroup on.
            left = FIRST + sent < WORKGROUPS
            sends = left and finished > FIRST and cycle % link_pace == 0
            bench.drive(issued=sends)
            await bench.wait(1)
            sent += sends
            if cycle % TICK_CYCLES or sent < GROUP + 2:
                continue
            verdicts.append(verdict(bench.now - begin, finished, sent, kernel_pace, link_pace))
            last = set(verdicts[-4:])
            if len(verdicts) < 4 or len(last) > 1 or None in last:
                continue
            (late,) = last
            seen.append(late)
            assert bench.outputs == ({"active", "critical"} if late else {"active", "relaxed"}), (
                cycle
            )

    simulate(run)
    assert len(seen) > 20 and set(seen) == {expected}


async def late_kernel(bench):
    """A kernel whose next workgroup is overdue, which is late."""
    await bench.send_group()
    await bench.progress(0)
    await bench.wait(2 * UNIT)
    await bench.progress(40)
    await bench.wait(10 * UNIT + DELAY)
    assert bench.outputs == {"active", "critical"}


def test_no_output_before_the_launch():
    async def run(bench):
        await bench.progress(10)
        await bench.wait(3)
        assert not bench.outputs
        await bench.strobe("launch")
        await bench.wait(1)
        assert bench.outputs == {"active"}

    simulate(run)


def test_no_output_without_a_kernel():
    """The outputs are low before the kernel's first workgroup is dispatched and after the last one
    has ended."""

    async def run(bench):
        await bench.send_group()
        for finished, dispatched in ((0, 0), (WORKGROUPS, WORKGROUPS)):
            await bench.progress(finished, dispatched=dispatched)
            assert not bench.outputs
        await bench.progress(WORKGROUPS - 1)
        assert bench.outputs == {"active", "relaxed"}

    simulate(run)


def test_a_kernel_that_must_not_dispatch_makes_communication_critical():
    async def run(bench):
        await bench.send_group()
        bench.drive(dispatch_limit=50)
        for dispatched, waits in ((49, False), (50, True), (51, True), (WORKGROUPS, False)):
            await bench.progress(40, dispatched=dispatched, oldest=40)
            assert bench.outputs == ({"critical"} if waits else {"active", "relaxed"}), dispatched

    simulate(run)


@pytest.mark.parametrize("window", [8, 12, 30, 64])
def test_a_kernel_far_ahead_makes_communication_critical(window):
    async def run(bench):
        await bench.strobe("launch")
        bench.ctx.set(bench.dut.launch_configuration, CONFIGURATION | {"credit_window": window})
        most = 40 + (window // 2 | window // 4)
        for dispatched in (most, most + 1):
            await bench.progress(40, dispatched=dispatched, oldest=40)
            assert ("critical" in bench.outputs) == (dispatched > most)

    simulate(run)


@pytest.mark.parametrize(
    ("workgroups", "group"), [(1, 1), (64, 1), (65, 2), (128, 2), (129, 4), (1023, 16), (1024, 16)]
)
def test_communication_has_time_once_a_group_was_sent(workgroups, group):
    """A group has 2 ** n workgroups; a kernel of at least 33 workgroups has 33 to 64 groups. After
    a launch the first group counts again."""

    async def run(bench):
        launch = CONFIGURATION | {"workgroups": workgroups, "to_send": workgroups}
        bench.ctx.set(bench.dut.launch_configuration, launch)
        for _ in range(2):
            await bench.strobe("launch")
            await bench.progress(0, dispatched=1, oldest=0)
            for _ in range(1 + group):
                await bench.wait(1)
                assert bench.outputs == {"active"}
                await bench.strobe("issued")
            await bench.wait(1)
            assert bench.outputs == {"active", "relaxed"}

    simulate(run)


@pytest.mark.parametrize("busy", [False, True])
def test_time_of_a_group_counts_while_the_engine_has_a_command(busy):
    async def run(bench):
        await bench.send_group()
        bench.drive(busy=busy)
        await bench.wait(7 * TICK_CYCLES)
        bench.drive(busy=1)
        await bench.wait(3 * TICK_CYCLES)
        for _ in range(GROUP):
            await bench.strobe("issued")
        assert bench.ctx.get(bench.dut.link_time) == (10 if busy else 3)

    simulate(run)


def test_communication_that_lags_has_no_time():
    async def run(bench):
        await bench.send_group()
        for oldest, lags in ((40, False), (104 - WINDOW // 8, False), (103 - WINDOW // 8, True)):
            await bench.progress(104, oldest=oldest)
            assert bench.outputs == ({"active"} if lags else {"active", "relaxed"}), oldest

    simulate(run)


def test_a_kernel_that_is_overdue_is_late_until_it_goes_on():
    async def run(bench):
        await late_kernel(bench)
        await bench.progress(150)
        await bench.wait(DELAY)
        assert bench.outputs == {"active", "relaxed"}

    simulate(run)


def test_waiting_is_no_time_of_the_kernel():
    async def run(bench):
        await bench.send_group()
        await bench.progress(0)
        await bench.wait(2 * UNIT)
        await bench.progress(40)
        bench.drive(dispatch_limit=20)
        await bench.wait(10 * UNIT)
        bench.drive(dispatch_limit=MOST)
        await bench.wait(DELAY)
        assert bench.outputs == {"active", "relaxed"}

    simulate(run)


def test_a_group_within_a_tick_takes_one():
    """No group's time is 0, which would mean that it is not known."""

    async def run(bench):
        await bench.strobe("launch")
        await bench.progress(40)
        await bench.wait(1)
        bench.drive(issued=1)
        await bench.wait(GROUP + 1)
        assert bench.ctx.get(bench.dut.link_time) == 1
        bench.drive(issued=0)
        await bench.wait(1)
        assert bench.outputs == {"active", "relaxed"}

    simulate(run)


@pytest.mark.parametrize(
    "apart", [1, 63, *(pytest.param(apart, marks=pytest.mark.verify) for apart in (5, 64, 200))]
)
def test_ticks_at_any_distance(apart):
    """A running comparison ends, and changed values are compared next."""

    async def run(bench):
        async def wait(cycles):
            for cycle in range(cycles):
                bench.drive(tick=cycle % apart == 0)
                await bench.ctx.tick()

        nothing_to_send = CONFIGURATION | {"to_send": 0}
        bench.ctx.set(bench.dut.launch_configuration, nothing_to_send)
        await bench.send_group()
        await bench.progress(0)
        await wait(32 * apart)
        await bench.progress(40)
        await wait(160 * apart + 2 * max(apart, TICK_CYCLES) + 2)
        assert bench.outputs == {"active", "critical"}
        await bench.progress(150)
        await wait(2 * max(apart, TICK_CYCLES) + 2)
        assert bench.outputs == {"active", "relaxed"}

    simulate(run)


def test_nothing_is_compared_anew_while_nothing_changes():
    """No register of the unit changes, except with a tick and in the cycle after it."""

    async def run(bench):
        await late_kernel(bench)
        bench.drive(dispatch_limit=20)  # no time passes
        await bench.wait(DELAY)
        assert not bench.ctx.get(bench.dut.changed)
        for _ in range(3 * TICK_CYCLES):
            await bench.wait(1)
            assert not bench.ctx.get(bench.dut.phase)

    simulate(run)


@pytest.mark.parametrize(
    "phase",
    [
        pytest.param(phase, marks=() if phase in (0, 27, 63) else pytest.mark.verify)
        for phase in range(0, 64, 9)
    ],
)
def test_a_launch_forgets(phase):
    """A launch also drops a running comparison, in any phase of it."""

    async def run(bench):
        await late_kernel(bench)
        await bench.wait((phase - bench.now) % 64)
        await bench.strobe("launch")
        await bench.wait(1)
        for _ in range(DELAY):
            assert bench.outputs == {"active"}
            await bench.wait(1)

    simulate(run)


def test_abort():
    """No output is on, from two cycles after it, until the next launch."""

    async def run(bench):
        await late_kernel(bench)
        await bench.strobe("aborting")
        for _ in range(DELAY):
            await bench.wait(1)
            assert not bench.outputs
        await bench.strobe("launch")
        await bench.wait(1)
        assert bench.outputs == {"active"}

    simulate(run)


def test_launch_wins_over_an_abort():
    async def run(bench):
        bench.drive(aborting=1)
        await bench.strobe("launch")
        bench.drive(aborting=0)
        await bench.progress(10)
        assert bench.outputs == {"active"}

    simulate(run)


def test_wrong_parameters():
    with pytest.raises(TypeError, match=r"Parameters must be T3Parameters, not 5"):
        Criticality(5)
