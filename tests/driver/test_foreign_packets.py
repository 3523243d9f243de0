"""Packets that are not of the launch do not end a wait, and do not hide errors of the launch."""

import re
from pathlib import Path

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.registers.map import load
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import Context, ReportedError, Ring, Transfer, WaitTimeoutError
from tests.support.c_driver import CContext, load_driver
from tests.support.driver_identity import IDENTITY
from tests.support.two_gpus import NEIGHBOUR, join_ring

BASE, END, SPACE = 1 << 17, 1 << 21, 3
STRANGER, FORMER_GENERATION, GENERATION = 9, 3, 4
TILE = Transfer(rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1))
RING = Ring(
    workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8,
    generation=GENERATION,
)  # fmt: skip
REPORTED, TIMEOUT = "reported", "timeout"
PAGE = Path(__file__).parents[2] / "docs" / "hazards.md"


class InPython:
    """Wait of the Python driver: its result, and the refused packets."""

    def __init__(self, bus):
        self._context = Context(bus)
        self.launch, self.abort = self._context.launch, self._context.abort

    def wait(self):
        try:
            return self._context.wait(polls=300)
        except ReportedError:
            return REPORTED
        except WaitTimeoutError:
            return TIMEOUT


class InC:
    def __init__(self, library, bus):
        self._context = CContext(library, bus)

    def launch(self):
        assert self._context.launch() == 0

    def abort(self):
        assert self._context.abort(3000) == 0

    def wait(self):
        result = self._context.wait(300)
        return {0: self._context.refused, -1: TIMEOUT, -2: REPORTED}[result]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return load_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(params=["Python", "C"])
def connect(request, library):
    return InPython if request.param == "Python" else lambda bus: InC(library, bus)


@pytest.fixture
def bus():
    with GoldenEngine(SMALL) as engine:
        bus = SimulatedBus(SMALL, engine)
        while any(Context(bus, number).status["aborting"] for number in range(SMALL.contexts)):
            pass
        yield bus


def program(bus, generation=GENERATION):
    context = Context(bus)
    context.assign(SPACE)
    if context.next_epoch == 256:
        context.reset_epochs()
        join_ring(context, SPACE)
    context.region(0, BASE, END)
    context.reduce_scatter(Ring(**vars(RING) | {"generation": generation}), TILE)


FOREIGN = {
    ErrorCode.PACKET_FORBIDDEN: {"source": STRANGER, "atom": BASE // 32},
    ErrorCode.PACKET_UNMAPPED: {"source": STRANGER, "atom": END // 32 + 5},
    ErrorCode.PACKET_STALE: {
        "source": NEIGHBOUR,
        "atom": BASE // 32,
        "generation": FORMER_GENERATION,
    },
}


def flood(bus, code, packets=20):
    for _ in range(packets):
        bus.packet(**{"context": SPACE, "generation": GENERATION, "slot": 3} | FOREIGN[code])


@pytest.mark.parametrize("code", FOREIGN)
def test_launch_ends_under_foreign_packets(bus, connect, code):
    """The launch is complete, and the wait returns the refused packets, although they fill the
    log."""
    program(bus)
    driver = connect(bus)
    driver.launch()
    flood(bus, code)
    bus.play(RING, 0, SPACE, BASE)
    assert driver.wait() == {code: 20}
    assert driver.wait() == {}
    context = Context(bus)
    assert context.tiles == RING.workgroups - RING.leaving
    errors = context.take_errors()
    assert len(errors) == 6 and {error.code for error in errors} == {code}
    assert all(error.foreign and error.source == FOREIGN[code]["source"] for error in errors)


@pytest.mark.parametrize("code", FOREIGN)
def test_foreign_packets_hide_no_error(bus, connect, code):
    """An error of the launch that has no place in the log ends the wait, for its program and for
    one that attaches; neither is repeated, and a launch after an abort is unaffected."""
    program(bus)
    driver = connect(bus)
    driver.launch()
    flood(bus, code)
    for _ in range(100):
        bus.cycle()
    bus.store(context=SPACE, generation=FORMER_GENERATION, dispatch_index=2, atom=BASE // 32 + 7)
    for _ in range(100):
        bus.cycle()
    assert {error.code for error in Context(bus).take_errors()} == {code}
    assert connect(bus).wait() == driver.wait() == REPORTED
    assert driver.wait() == TIMEOUT
    bus.store(context=SPACE, generation=FORMER_GENERATION, dispatch_index=2, atom=BASE // 32 + 7)
    for _ in range(100):
        bus.cycle()
    driver.abort()
    for number, one in enumerate((driver, connect(bus)), GENERATION + 1):
        program(bus, number)
        one.launch()
        bus.play(RING, 0, SPACE, BASE, generation=number)
        assert one.wait() == {}


class Registers:
    """Bus of hardware that is idle, with these words in its registers."""

    def __init__(self, **words):
        self._words = IDENTITY | {load()[name].address_in(0): word for name, word in words.items()}

    def write(self, address, word):
        return True

    def read(self, address):
        return self._words.get(address, 0)


def classes_of_the_page():
    rows = re.findall(r"^\| ([A-Z_]+) \| (intact|damaged) \|", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows))
    return dict(rows)


def test_page_has_every_error():
    assert set(classes_of_the_page()) == {code.name for code in ErrorCode} - {"NONE"}


@pytest.mark.parametrize("count", [1, 0xFFFF])
def test_every_error_acts_as_the_page_says(connect, count):
    """Only errors that the page calls damaging end a wait."""
    seen = {}
    for name in classes_of_the_page():
        if f"COUNT_{name}" not in load():
            continue
        registers = Registers(CONTEXTS=1, ERRORS=count, **{f"COUNT_{name}": count})
        seen[name] = connect(registers).wait()
        if seen[name] != REPORTED:
            assert seen[name] == {ErrorCode[name]: count}
    expected = {name: kind == "damaged" for name, kind in classes_of_the_page().items()}
    assert {name: result == REPORTED for name, result in seen.items()} == {
        name: expected[name] for name in seen
    }
    assert len(seen) == 20


def test_message_names_what_the_log_lacks():
    registers = Registers(CONTEXTS=1, ERRORS=2, COUNT_STORE_LATE=2, COUNT_PACKET_STALE=1)
    with pytest.raises(ReportedError, match=r"^STORE_LATE \(in 2 cycles\)$") as info:
        Context(registers).wait()
    assert info.value.cycles == {ErrorCode.STORE_LATE: 2} and info.value.errors == ()
    running = load()["STATUS"].pack(running=1)
    registers = Registers(CONTEXTS=1, ERRORS=2, COUNT_PACKET_STALE=2, STATUS=running)
    with pytest.raises(WaitTimeoutError, match=r"; refused: PACKET_STALE \(in 2 cycles\)$") as info:
        Context(registers).wait(polls=2)
    assert info.value.refused == {ErrorCode.PACKET_STALE: 2}
