"""Aborts, launches and waits in every order, by both drivers, on the golden model."""

from dataclasses import replace

import pytest

from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import T3, AbortedError, Context, Ring, Transfer, WaitTimeoutError
from tests.support.c_driver import CContext, load_driver
from tests.support.two_gpus import join_ring

BASE, SPACE = 1 << 17, 3
TILE = Transfer(rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1))
RING = Ring(workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8)
DONE, TIMEOUT, ABORTED = 0, -1, -5
POLLS = 3000


class InPython:
    """Calls of the Python driver with the results of the C driver."""

    def __init__(self, bus):
        self._context = Context(bus, 0)

    def wait(self):
        try:
            self._context.wait(polls=POLLS)
        except AbortedError:
            return ABORTED
        except WaitTimeoutError:
            return TIMEOUT
        return DONE

    def abort(self):
        self._context.abort()

    def launch(self):
        self._context.launch()


class InC:
    def __init__(self, library, bus):
        self._context = CContext(library, bus)

    def wait(self):
        return self._context.wait(POLLS)

    def abort(self):
        assert self._context.abort(POLLS) == 0

    def launch(self):
        assert self._context.launch() == 0


class Session:
    """A program, its bus, and the generation of its next launch."""

    def __init__(self, bus, connect):
        self.bus, self._connect = bus, connect
        self.driver, self._generation = connect(bus), 0
        context = T3(bus).context(0)
        context.assign(SPACE)
        context.reset_epochs()
        join_ring(context, SPACE)
        context.region(0, BASE, 1 << 21)
        self._program = context

    def attach(self):
        """A second program, which knows nothing of the first one's launches."""
        self.driver = self._connect(self.bus)

    def launch(self):
        self._generation = (self._generation + 1) % 16
        ring = replace(RING, generation=self._generation)
        self._program.reduce_scatter(ring, TILE)
        self.driver.launch()
        return ring

    def run_to_end(self):
        self.bus.play(self.launch(), 0, SPACE, BASE)
        assert self.driver.wait() == DONE


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return load_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(params=["Python", "C"])
def connect(request, library):
    return InPython if request.param == "Python" else lambda bus: InC(library, bus)


@pytest.fixture
def engine():
    with GoldenEngine(SMALL) as engine:
        yield engine


@pytest.fixture
def session(engine, connect):
    bus = SimulatedBus(SMALL, engine)
    while any(Context(bus, number).status["aborting"] for number in range(SMALL.contexts)):
        pass
    return Session(bus, connect)


@pytest.mark.parametrize("count", [0, 0xFFFE, 0xFFFF])
@pytest.mark.parametrize("launches", range(3))
@pytest.mark.parametrize("attached", [False, True])
def test_abort_then_launch(engine, session, launches, attached, count):
    """An abort ends nothing, a launch that runs, or also one behind it; the counters of launches
    wrap. Then a launch, perhaps of another program, is waited for as after a reset.
    """
    for name in ("launches_begun", "launches_done"):
        engine._state.contexts["control"][name] = count
    session.run_to_end()
    for _ in range(launches):
        session.launch()
    if launches:
        assert session.driver.wait() == TIMEOUT
    session.driver.abort()
    if attached:
        session.attach()
    assert session.driver.wait() == (ABORTED if launches else DONE)
    session.run_to_end()
    session.run_to_end()


def test_several_aborts(session):
    for _ in range(3):
        session.launch()
        session.driver.abort()
        session.driver.abort()
        assert session.driver.wait() == ABORTED
    session.run_to_end()


def test_the_launch_behind_an_ended_one_is_dropped(session):
    """A launch that is done, but not drained, holds back the next one, which an abort drops."""
    session.bus.stop_link([0])
    session.bus.play(session.launch(), 0, SPACE, BASE)
    session.launch()
    session.driver.abort()
    assert session.driver.wait() == ABORTED
    session.bus.stop_link([])
    session.run_to_end()
