"""Bench of the credit window: workgroups complete in any order, compared with the golden model in
every cycle.
"""

import random

import cocotb

from rtl.interface.configuration import LaunchConfiguration
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport
from rtl.interface.timebase import TICK_CYCLES
from rtl.parameters import T3Parameters
from rtl.trigger.credit_window import CreditWindow
from sysmodel.engine.golden.trigger.credit_window import WindowInputs, step_credit_window
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, set_launch_configuration
from tb.inside import BLOCK_BITS, blocks_of_a_count, fill, preset
from tb.payload import Fields

# Two words of the bitmap.
PARAMETERS = T3Parameters(
    address_bits=20,
    tile_atom_bits=7,
    workgroup_bits=8,
    sets=8,
    ways=2,
    credit_window=64,
    command_depth=16,
    contexts=2,
)
_LAUNCH_CONFIGURATION = Fields(LaunchConfiguration(PARAMETERS))
# Fields of a launch's configuration that the credit window reads.
_READ = dict.fromkeys(
    ("tracked_first", "tracked_end", "credit_window", "command_window", "timeout")
    + ("reports_steps", "report_log2"),
    0,
)
_REPORT = Fields(ErrorReport(PARAMETERS))
_MOST = (1 << PARAMETERS.credit_limit_bits) - 1
_CYCLES = 5000
_WAITS = 40
_OUTPUTS = ("oldest", "credit_limit", "done", "reports")

expect(
    "nothing launched",
    "launched again",
    "launch as a workgroup completes",
    "credit window full",
    "bounded by the command credit window",
    "credit_limit saturates",
    "complete in order",
    "complete out of order",
    "complete again in the cycle of its move",
    "oldest moves in consecutive cycles",
    "bitmap wraps",
    "own and issued at once",
    "timeout",
    "timeout just avoided",
    "a release just avoids the timeout",
    "progress is reported",
    "progress is reported at the end",
    "progress between two steps",
    "oldest moves at a tick",
    "waits between ticks",
    "timeout of what cannot be sent",
    "done",
    "not done any more",
    "aborted while a workgroup waits",
    "aborted when done",
    "launch while aborting",
)


def make_dut(block: type = CreditWindow):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """The credit window and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.own, self.window = self.state.contexts[0], self.state.contexts[0]["window"]
        self._rest = random.Random(cocotb.RANDOM_SEED)
        self.timeouts = 0
        self._moved = self._done = False
        self._waited = 0

    def configure(self, **launch_configuration: int) -> None:
        launch_configuration = _READ | launch_configuration
        self.dut.launch_configuration.value = _LAUNCH_CONFIGURATION.pack(
            launch_configuration, rest=self._rest
        )
        set_launch_configuration(self.state, launch_configuration)

    def value(self, name: str) -> int:
        return int(self.window["report_due" if name == "reports" else name])

    def preset_waiting(self, cycles: int) -> None:
        """Preset the number of cycles since the oldest dispatch index last moved."""
        preset(self.dut, "idle", cycles)
        self.window["waited"] = cycles

    def complete(self, dispatch_index: int) -> bool:
        """Return whether the dispatch index is complete and waits for earlier dispatch indices."""
        return bool(self.state.complete[0, dispatch_index % PARAMETERS.credit_window])

    async def cycle(
        self,
        dispatch_index: int | None = None,
        *,
        own: bool = False,
        issued: bool = False,
        launch: bool = False,
        unfinished: bool = False,
        released: bool = False,
        aborting: bool = False,
        tick: bool = True,
    ) -> None:
        """Drive one cycle, in which the workgroup of ``dispatch_index`` completes."""
        dut, state = self.dut, self.state
        dut.complete.value = int(dispatch_index is not None)
        port = dut.complete_dispatch_index
        nothing = dispatch_index is None
        port.value = self._rest.getrandbits(len(port)) if nothing else dispatch_index
        dut.own.value, dut.issued.value = int(own), int(issued)
        dut.launch.value = int(launch)
        dut.unfinished.value, dut.aborting.value = int(unfinished), int(aborting)
        dut.tick.value, dut.released.value = int(tick), int(released)
        await settled()
        for name in _OUTPUTS:
            assert int(getattr(dut, name).value) == self.value(name), name
        oldest = self.value("oldest")
        self._cover(dispatch_index, launch)
        self._cover_abort(launch, aborting)
        cover("own and issued at once", own and issued)
        completes = -1 if dispatch_index is None else dispatch_index
        inputs = WindowInputs(completes, own, issued, launch, unfinished, released, tick, aborting)
        _, changes, expired = step_credit_window(
            state.config, self.window, state.complete[0], self.own["launch"], inputs
        )
        assert launch or bool(dut.changes.value) == changes
        assert bool(dut.error__valid.value) == expired
        if expired:
            self.timeouts += 1
            report = _REPORT.named(int(dut.error__report.value))
            dispatch_index = min(oldest, (1 << PARAMETERS.dispatch_index_bits) - 1)
            assert report == dict.fromkeys(_REPORT.names, 0) | {
                "code": ErrorCode.TIMEOUT.value,
                "dispatch_index": dispatch_index,
            }
            cover("timeout")
            cover(
                "timeout of what cannot be sent",
                oldest >= self.own["launch"]["tracked_end"],
            )
        moved = self.value("oldest") != oldest and not launch
        cover("oldest moves in consecutive cycles", moved and self._moved)
        late = self._waited == self.own["launch"]["timeout"] - 1 > 1
        cover("timeout just avoided", moved and late)
        cover("a release just avoids the timeout", released and late and not moved and not launch)
        cover("oldest moves at a tick", moved and tick and self._waited)
        cover("waits between ticks", not tick and 0 < self._waited == self.value("waited"))
        reports, end = self.value("reports"), self.own["launch"]["tracked_end"]
        step = 1 << int(self.own["launch"]["report_log2"])
        cover("progress is reported", reports and not self.value("oldest") % step)
        cover("progress is reported at the end", reports and self.value("oldest") == end)
        silent = self.own["launch"]["reports_steps"] and not reports
        cover("progress between two steps", moved and silent)
        cover("not done any more", self._done and not self.value("done"))
        self._moved, self._done = moved, bool(self.value("done"))
        self._waited = self.value("waited")
        await next_cycle(dut)

    def _cover(self, dispatch_index: int | None, launch: bool) -> None:
        configuration, slots = self.own["launch"], PARAMETERS.credit_window
        oldest, launched = self.value("oldest"), self.value("window_open")
        first = int(configuration["tracked_first"])
        ends = (
            oldest + int(configuration["credit_window"]),
            first + self.value("issued") + int(configuration["command_window"]),
        )
        if launch:
            cover("launched again", launched)
            cover("launch as a workgroup completes", dispatch_index is not None)
        cover("nothing launched", not launched and dispatch_index is not None)
        cover("done", self.value("done"))
        if launched:
            cover("credit window full", ends[0] < ends[1] and self.value("credit_limit") == ends[0])
            cover("bounded by the command credit window", ends[1] < ends[0])
            cover("credit_limit saturates", min(ends) > _MOST)
        if dispatch_index is not None and launched and not launch:
            moves = self.complete(oldest)
            cover("complete in order", dispatch_index == oldest and not moves)
            cover("complete out of order", oldest < dispatch_index < oldest + slots)
            cover(
                "complete again in the cycle of its move",
                moves and (dispatch_index - oldest) % slots == 0,
            )
            cover("bitmap wraps", dispatch_index % slots < oldest % slots)

    def _cover_abort(self, launch: bool, aborting: bool) -> None:
        launched = aborting and self.value("window_open")
        cover("aborted while a workgroup waits", launched and self.value("waited"))
        cover("aborted when done", launched and self.value("done"))
        cover("launch while aborting", launch and aborting)


@cocotb.test()
async def random_traffic(dut):
    """Random registers, launches and completions agree with the model, including combinations that
    no program uses.
    """
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    dispatch_indices = 1 << PARAMETERS.dispatch_index_bits
    for cycle in range(scaled(_CYCLES)):
        if cycle % 250 == 0:
            bench.configure(
                tracked_first=rng.choice([0, rng.randrange(40), _MOST - 20]),
                tracked_end=rng.choice([20, 60, _MOST, rng.randrange(_MOST)]),
                credit_window=rng.choice([0, 8, PARAMETERS.credit_window]),
                command_window=rng.choice([4, 30, 200, rng.randrange(_MOST)]),
                timeout=rng.choice([0, 1, 5, 5, 20]),
                reports_steps=rng.getrandbits(1),
                report_log2=rng.choice([0, 1, 2, 3, 4, 5, rng.randrange(32)]),
            )
            busy = rng.choice([0.05, 0.4, 0.9])
            still = rng.choice([0, 0.5, 0.95])
            ticks = rng.choice([1, 0.5, 1 / 8])
        dispatch_index = None
        if rng.random() < busy:
            # Near the oldest dispatch index; sometimes complete already, or far away.
            near = rng.choice([0, 0, 1, 2, 3, rng.randrange(PARAMETERS.credit_window)])
            dispatch_index = (bench.value("oldest") + near) % dispatch_indices
        aborting = rng.random() < 0.004
        await bench.cycle(
            dispatch_index,
            own=rng.random() < 0.2,
            issued=rng.random() < 0.2,
            launch=rng.random() < (0.2 if aborting else 0.01),
            unfinished=rng.random() < still,
            released=rng.random() < 0.02,
            aborting=aborting,
            tick=rng.random() < ticks,
        )
    assert bench.timeouts


@cocotb.test()
async def a_launch_configuration(dut):
    """In an ordinary launch, and in a launch of all dispatch indices, only admitted workgroups
    complete, the oldest index reaches the end, and the launch is done.

    The last credit limit equals the closed form.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    credit_window, commands = 20, 25
    for first, end in ((6, 150), (0, 1 << PARAMETERS.dispatch_index_bits)):
        bench.configure(
            tracked_first=first,
            tracked_end=end,
            credit_window=credit_window,
            command_window=commands,
            timeout=50,
        )
        await bench.cycle(launch=True)
        await bench.cycle()  # the credit limit still belongs to the last launch
        open_, issued = set(range(first, end)), 0
        for _ in range(4000):
            admitted = [
                dispatch_index
                for dispatch_index in open_
                if dispatch_index < bench.value("credit_limit")
            ]
            dispatch_index = rng.choice(admitted) if admitted and rng.random() < 0.7 else None
            if dispatch_index is not None:
                open_.remove(dispatch_index)
            behind = end - first - len(open_) - issued
            picks = behind > 0 and rng.random() < 0.6
            issued += picks
            await bench.cycle(dispatch_index, issued=picks)
            if not open_ and issued == end - first:
                break
        assert not open_
        for _ in range(credit_window + 4):
            await bench.cycle()
        assert int(dut.done.value) and int(dut.oldest.value) == end
        assert int(dut.credit_limit.value) == min(end + credit_window, first + issued + commands)
        assert not bench.timeouts


@cocotb.test()
async def a_workgroup_that_never_completes(dut):
    """An incomplete workgroup is reported with its dispatch index after every timeout, and stays
    the oldest.
    """
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    timeout = 30
    bench.configure(
        tracked_first=2, tracked_end=20, credit_window=8, command_window=20, timeout=timeout
    )
    await bench.cycle(launch=True)
    for dispatch_index in (2, 4, 5, 6):
        await bench.cycle(dispatch_index)
    for _ in range(5 * (timeout + 1) + 3):
        await bench.cycle()
    assert bench.timeouts == 5
    assert (
        int(dut.oldest.value) == 3 and int(dut.credit_limit.value) == 11 and not int(dut.done.value)
    )


@cocotb.test()
async def between_ticks(dut):
    """Between ticks the timeout does not count, and each timeout is reported once."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    bench.configure(tracked_first=2, tracked_end=20, credit_window=8, command_window=20, timeout=3)
    await bench.cycle(launch=True)
    for number in range(1, 9):
        for _ in range(TICK_CYCLES):
            await bench.cycle(tick=False)
        await bench.cycle()
        for _ in range(2):
            await bench.cycle(tick=False)
        assert bench.timeouts == number // 3


@cocotb.test()
async def an_abort(dut):
    """From an abort until the next launch, no dispatch index is admitted, and no timeout is
    reported.
    """
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    bench.configure(tracked_first=2, tracked_end=20, credit_window=8, command_window=20, timeout=30)
    for _ in range(2):
        await bench.cycle(launch=True)
        for dispatch_index in (2, 4):
            await bench.cycle(dispatch_index)
        for _ in range(20):
            await bench.cycle()
        assert int(dut.oldest.value) == 3 and int(dut.credit_limit.value) == 11
        await bench.cycle(aborting=True)
        for _ in range(40):
            await bench.cycle()
        assert not int(dut.credit_limit.value) and not int(dut.done.value)
    assert not bench.timeouts


@cocotb.test()
async def the_end_of_any_wait(dut):
    """Waits of any length end, even after hours: the bench presets the counter to a value shortly
    before the end.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for number in range(scaled(_WAITS)):
        timeout = rng.choice([1 << rng.randrange(8, 32), rng.getrandbits(32)]) | 1 << 7
        launch_configuration = {
            "tracked_first": 2,
            "tracked_end": 20,
            "credit_window": 8,
            "command_window": 20,
        }
        bench.configure(**launch_configuration, timeout=timeout)
        await bench.cycle(launch=True)
        await bench.cycle()
        # Different from the timeout in one bit, or shortly before it.
        far = timeout ^ 1 << rng.randrange(32)
        bench.preset_waiting(far if number % 2 else timeout - rng.randint(1, 6))
        for _ in range(8):
            await bench.cycle()
    assert bench.timeouts >= scaled(_WAITS) // 2


@cocotb.test()
async def a_wait_through_the_blocks_of_its_count(dut):
    """A block of the counter becomes full, or nearly full; with ones in the blocks below, it then
    carries or does not.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 3)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    blocks = list(blocks_of_a_count(32))
    for at, block in blocks:
        count = rng.getrandbits(7) << at + BLOCK_BITS | block << at | (1 << at) - 1
        bench.configure(tracked_first=2, tracked_end=20, timeout=count + 3)
        await bench.cycle(launch=True)
        bench.preset_waiting(count - (1 << at))
        await bench.cycle()
        bench.window["waited"] = fill(dut, "idle", at)
        assert bench.value("waited") == count
        for _ in range(6):
            await bench.cycle()
    assert bench.timeouts == len(blocks)


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
