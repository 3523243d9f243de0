# amaranth: UnusedElaboratable=no
"""Workgroups that complete in any order, in every cycle against the golden model."""

import random

import cocotb

from rtl.interface.configuration import ProductionConfiguration
from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport
from rtl.parameters import T3Parameters
from rtl.trigger.window import Window
from sysmodel.engine.golden.state import TABLE, C, U
from sysmodel.engine.golden.window import step_window
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.golden import golden_state, set_production
from tb.inside import BLOCK_BITS, blocks_of_a_count, fill, preset
from tb.payload import Fields

# Two words of the bitmap.
PARAMETERS = T3Parameters(
    address_bits=20, workgroup_bits=8, sets=8, ways=2, window_workgroups=64, command_depth=16
)
_PRODUCTION = Fields(ProductionConfiguration(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_MOST = (1 << PARAMETERS.limit_bits) - 1
_CYCLES = 5000
_WAITS = 40
_OUTPUTS = {"base": U.base, "limit": U.limit, "dispatch_limit": U.dispatch_limit, "done": U.done}

expect(
    "nothing launched",
    "launched again",
    "launch as a workgroup completes",
    "window full",
    "bounded by the command window",
    "limit saturates",
    "complete in order",
    "complete out of order",
    "complete again in the cycle of its move",
    "base moves in consecutive cycles",
    "bitmap wraps",
    "own and picked at once",
    "dispatch bounded downstream",
    "dispatch bounded here",
    "downstream behind the shift",
    "timeout",
    "timeout just avoided",
    "timeout of what cannot be sent",
    "done",
    "not done any more",
)


def make_dut(block: type = Window):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())


class _Bench:
    """The window and its model."""

    def __init__(self, dut):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        self.timeouts = 0
        self._moved = self._done = False
        self._waited = 0

    def configure(self, **production: int) -> None:
        self.dut.production.value = _PRODUCTION.pack(production)
        set_production(self.state, dict.fromkeys(_PRODUCTION.names, 0) | production)

    def value(self, column: int) -> int:
        return int(self.state.gpu[column])

    def preset_waiting(self, cycles: int) -> None:
        """Go on as if the base had not moved for so long."""
        preset(self.dut, "idle", cycles)
        self.state.gpu[U.waited] = cycles

    def complete(self, place: int) -> bool:
        """Whether the place is complete and waits for those before it."""
        slots = PARAMETERS.window_workgroups
        row = self.state.config[C.at_table] + place % slots * len(TABLE)
        return bool(self.state.memory[row + TABLE.complete])

    async def cycle(
        self,
        place: int | None = None,
        *,
        own: bool = False,
        picked: bool = False,
        launch: bool = False,
        limit_in: int = _MOST,
        unfinished: bool = False,
    ) -> None:
        """One cycle, in which the workgroup of ``place`` completes."""
        dut, state = self.dut, self.state
        dut.complete.value = int(place is not None)
        if place is not None:
            dut.complete_place.value = place
        dut.own.value, dut.picked.value = int(own), int(picked)
        dut.launch.value, dut.limit_in.value = int(launch), limit_in
        dut.unfinished.value = int(unfinished)
        await settled()
        for name, column in _OUTPUTS.items():
            assert int(getattr(dut, name).value) == self.value(column), name
        base = self.value(U.base)
        self._cover(place, launch, limit_in)
        cover("own and picked at once", own and picked)
        completes = -1 if place is None else place
        expired = step_window(state, limit_in, completes, own, picked, launch, unfinished)
        assert bool(dut.error__valid.value) == expired
        if expired:
            self.timeouts += 1
            report = _REPORT.named(int(dut.error__report.value))
            place = base % (1 << PARAMETERS.place_bits)
            assert report == {"code": ErrorCode.TIMEOUT.value, "place": place, "wavefront": 0}
            cover("timeout")
            cover("timeout of what cannot be sent", base >= self.state.config[C.tracked_end])
        moved = self.value(U.base) != base and not launch
        cover("base moves in consecutive cycles", moved and self._moved)
        late = self._waited == state.config[C.timeout] - 1 > 1
        cover("timeout just avoided", moved and late)
        cover("not done any more", self._done and not self.value(U.done))
        self._moved, self._done = moved, bool(self.value(U.done))
        self._waited = self.value(U.waited)
        await next_cycle(dut)

    def _cover(self, place: int | None, launch: bool, limit_in: int) -> None:
        config, slots = self.state.config, PARAMETERS.window_workgroups
        base, launched = self.value(U.base), self.value(U.launched)
        first, shift = int(config[C.tracked_first]), int(config[C.shift])
        ends = (
            base + int(config[C.window]),
            first + self.value(U.picked) + int(config[C.command_window]),
        )
        if launch:
            cover("launched again", launched)
            cover("launch as a workgroup completes", place is not None)
        cover("nothing launched", not launched and place is not None)
        cover("done", self.value(U.done))
        if launched:
            cover("window full", ends[0] < ends[1] and self.value(U.limit) == ends[0])
            cover("bounded by the command window", ends[1] < ends[0])
            cover("limit saturates", min(ends) > _MOST)
        if place is not None and launched and not launch:
            moves = self.complete(base)
            cover("complete in order", place == base and not moves)
            cover("complete out of order", base < place < base + slots)
            cover("complete again in the cycle of its move", moves and (place - base) % slots == 0)
            cover("bitmap wraps", place % slots < base % slots)
        admitted = max(limit_in - shift, 0)
        cover("dispatch bounded downstream", admitted < first)
        cover("dispatch bounded here", admitted >= first)
        cover("downstream behind the shift", limit_in < shift)


@cocotb.test()
async def random_traffic(dut):
    """Registers, launches and completions as they come, also such as no program has."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    places = 1 << PARAMETERS.place_bits
    for cycle in range(scaled(_CYCLES)):
        if cycle % 250 == 0:
            bench.configure(
                tracked_first=rng.choice([0, rng.randrange(40), _MOST - 20]),
                tracked_end=rng.choice([20, 60, _MOST, rng.randrange(_MOST)]),
                shift=rng.choice([rng.randrange(30), rng.randrange(_MOST)]),
                window=rng.choice([0, 8, PARAMETERS.window_workgroups]),
                command_window=rng.choice([4, 30, 200, rng.randrange(_MOST)]),
                timeout=rng.choice([0, 1, 5, 5, 20]),
            )
            busy, limit_in = rng.choice([0.05, 0.4, 0.9]), rng.randrange(80)
            still = rng.choice([0, 0.5, 0.95])
        place = None
        if rng.random() < busy:
            # About the base, now and then one that was complete already, or is far away.
            near = rng.choice([0, 0, 1, 2, 3, rng.randrange(PARAMETERS.window_workgroups)])
            place = (bench.value(U.base) + near) % places
        if rng.random() < 0.1:
            limit_in = rng.choice([0, _MOST, rng.randrange(80), rng.randrange(_MOST)])
        await bench.cycle(
            place,
            own=rng.random() < 0.2,
            picked=rng.random() < 0.2,
            launch=rng.random() < 0.01,
            limit_in=limit_in,
            unfinished=rng.random() < still,
        )
    assert bench.timeouts


@cocotb.test()
async def a_production(dut):
    """A whole one, twice: only admitted places complete, the base ends at the end, and it is done.

    The last limit is the closed form's.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    first, end, window, commands = 6, 150, 20, 25
    bench.configure(
        tracked_first=first, tracked_end=end, window=window, command_window=commands, timeout=50
    )
    for _ in range(2):
        await bench.cycle(launch=True)
        await bench.cycle()  # the limit is still the last production's
        open_, picked = set(range(first, end)), 0
        for _ in range(4000):
            admitted = [place for place in open_ if place < bench.value(U.limit)]
            place = rng.choice(admitted) if admitted and rng.random() < 0.7 else None
            if place is not None:
                open_.remove(place)
            behind = end - first - len(open_) - picked
            picks = behind > 0 and rng.random() < 0.6
            picked += picks
            await bench.cycle(place, picked=picks)
            if not open_ and picked == end - first:
                break
        assert not open_
        for _ in range(window + 4):
            await bench.cycle()
        assert int(dut.done.value) and int(dut.base.value) == end
        assert int(dut.limit.value) == min(end + window, first + picked + commands)
        assert not bench.timeouts


@cocotb.test()
async def a_workgroup_that_never_completes(dut):
    """It is reported every time the timeout has passed, with its place, and holds the base."""
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    timeout = 30
    bench.configure(tracked_first=2, tracked_end=20, window=8, command_window=20, timeout=timeout)
    await bench.cycle(launch=True)
    for place in (2, 4, 5, 6):
        await bench.cycle(place)
    for _ in range(5 * (timeout + 1) + 3):
        await bench.cycle()
    assert bench.timeouts == 5
    assert int(dut.base.value) == 3 and int(dut.limit.value) == 11 and not int(dut.done.value)


@cocotb.test()
async def the_end_of_any_wait(dut):
    """Also of one that takes hours: the counter is put to where it is shortly before."""
    rng = random.Random(cocotb.RANDOM_SEED + 2)
    await reset(dut, _INPUTS)
    bench = _Bench(dut)
    for number in range(scaled(_WAITS)):
        timeout = rng.choice([1 << rng.randrange(8, 32), rng.getrandbits(32)]) | 1 << 7
        production = {"tracked_first": 2, "tracked_end": 20, "window": 8, "command_window": 20}
        bench.configure(**production, timeout=timeout)
        await bench.cycle(launch=True)
        await bench.cycle()
        # A bit away from the timeout, or shortly before it.
        far = timeout ^ 1 << rng.randrange(32)
        bench.preset_waiting(far if number % 2 else timeout - rng.randint(1, 6))
        for _ in range(8):
            await bench.cycle()
    assert bench.timeouts >= scaled(_WAITS) // 2


@cocotb.test()
async def a_wait_through_the_blocks_of_its_count(dut):
    """A block gets full, or nearly so; then, with ones below it, it carries or does not."""
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
        bench.state.gpu[U.waited] = fill(dut, "idle", at)
        assert bench.value(U.waited) == count
        for _ in range(6):
            await bench.cycle()
    assert bench.timeouts == len(blocks)
