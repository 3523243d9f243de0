"""Programs that follow each other on a context, and contexts that do not exist, by both drivers."""

from ctypes import c_uint

import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.registers.map import MAX_CONTEXTS
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import T3, Context, RefusedError, Ring, Transfer
from tests.support.c_driver import UNCHANGED, CContext, Receivers, load_driver
from tests.support.two_gpus import join_ring

BASE, SPACE, INVALID = 1 << 17, 3, -6
TILE = Transfer(rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1))
THREE = Ring(
    workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8,
    generation=1,
)  # fmt: skip
TWO = Ring(
    workgroups=4, leaving=0, staying=2, credit_window=4, command_window=8,
    generation=1,
)  # fmt: skip


class Mapping:
    """Bus like a mapping: a page that does not exist reads as 0, and accepts all writes."""

    def __init__(self, bus):
        self._bus = bus

    def write(self, address, word):
        self._bus.write(address, word)
        return True

    def read(self, address):
        try:
            return self._bus.read(address)
        except ValueError:
            return 0


@pytest.fixture
def bus():
    with GoldenEngine(SMALL) as engine:
        bus = SimulatedBus(SMALL, engine)
        while any(Context(bus, number).status["aborting"] for number in range(SMALL.contexts)):
            pass
        yield bus


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return load_driver(tmp_path_factory.mktemp("driver"))


def former_program(bus, ranges):
    """Leave ranges behind, up to all that the hardware has, and a refused one in the staging."""
    context = Context(bus)
    context.assign(SPACE)
    context.reset_epochs()
    join_ring(context, SPACE)
    context.region(0, BASE, 1 << 21)
    for index in range(ranges):
        context.own_map(index, 1)
    with pytest.raises(RefusedError, match="UNKNOWN_INDEX"):
        context.own_map(ranges, 1, region=200, command=200)


@pytest.mark.parametrize("ranges", range(SMALL.ranges + 1))
def test_ring_after_another_program(bus, ranges):
    """A ring of two ranges runs to its end, whichever ranges another program left."""
    former_program(bus, ranges)
    context = Context(bus)
    context.reduce_scatter(TWO, TILE)
    context.launch()
    bus.play(TWO, 0, SPACE, BASE)
    context.wait()
    context.wait_idle()
    assert context.tiles == TWO.workgroups
    # Four atoms and a marker of each tile.
    assert len(bus.sent) == 5 * (TWO.workgroups - TWO.staying)
    assert context.take_errors() == []


def test_programs_in_turn(bus):
    """Two objects that know nothing of each other program the context in turn."""
    objects = [Context(bus), Context(bus)]
    former_program(bus, 2)
    for turn in range(4):
        objects[turn % 2].reduce_scatter([THREE, TWO][turn % 2], TILE)


@pytest.mark.parametrize("language", ["Python", "C"])
@pytest.mark.parametrize("ranges", range(SMALL.ranges + 1))
def test_first_map_after_another_program(bus, library, language, ranges):
    former_program(bus, ranges)
    if language == "Python":
        context = Context(bus)
        for index in range(SMALL.ranges):
            context.remote_map(3 * index, 3)
        with pytest.raises(RefusedError) as info:
            context.remote_map(3 * SMALL.ranges, 3)
        assert info.value.code is ConfigurationError.UNKNOWN_INDEX
    else:
        in_c = CContext(library, bus)
        for index in range(SMALL.ranges):
            assert in_c.remote_map(3 * index, 3, 0, 0, 0, Receivers(1, 0), None) == 0
        found = in_c.remote_map(1, 3, 0, 0, 0, Receivers(1, 0), None)
        assert found == ConfigurationError.UNKNOWN_INDEX.value


def test_contexts_that_the_hardware_lacks(bus, library):
    """Over a mapping, whose writes all seem to be accepted, no call of such a context succeeds."""
    mapping = Mapping(bus)
    for number in [*range(MAX_CONTEXTS + 2), (1 << 32) - 1]:
        in_c = CContext(library, mapping, number)
        results = {
            in_c.assign(number % 16, UNCHANGED), in_c.reset_epochs(c_uint(9)),
            in_c.region(0, 4096 * number, 4096 * number + 64), in_c.unmap(), in_c.launch(),
            in_c.wait(9), in_c.wait_idle(9), in_c.abort(99), in_c.clear_errors(),
        }  # fmt: skip
        if number < SMALL.contexts:
            assert results.isdisjoint({INVALID}), number
            T3(mapping).context(number)
            continue
        assert results == {INVALID}, number
        for make in (T3(mapping).context, lambda number: Context(mapping, number)):
            with pytest.raises(ValueError, match="the number of a context must be"):
                make(number)
    with pytest.raises(ValueError, match="the number of a context must be"):
        T3(mapping).context(-1)
