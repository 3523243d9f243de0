import random

import pytest

from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, G, H
from sysmodel.machine.bus import WRITES, bus_idle, bus_rests, drive_bus, load_writes
from sysmodel.machine.register_words import PAGE_MASK, REFUSAL_MASK, STATUS_OFFSET
from tests.support.small_kernel import bare_state, small_kernel


class Subordinate:
    """A GPU's manager at an AXI4-Lite subordinate that is slow at random.

    Reads return the address's complement; the status of a page shows whether the last write to the
    page was one to an address of ``refused``. Reads are accepted at once, as by T3's port.
    """

    def __init__(self, seed=0, pace=0.5, refused=()):
        print("seed", seed)
        self.state, _ = bare_state(small_kernel())
        self.gpu = self.state.gpu[0]
        self.written = []
        self.reads = 0
        self.checks = 0
        self._status = {}
        self._random = random.Random(seed)
        self._pace, self._refused = pace, refused
        self._address = self._data = self._read = self._read_word = None
        self._held = {}

    def _input(self, name):
        return int(self.state.inputs[0, CHANNEL_INPUTS + getattr(G, f"bus_{name}")])

    def _output(self, name):
        return int(self.state.outputs[0, CHANNEL_OUTPUTS + getattr(H, f"bus_{name}")])

    def _set(self, name, value):
        self.state.outputs[0, CHANNEL_OUTPUTS + getattr(H, f"bus_{name}")] = value

    def _passes(self, channel, *payload):
        """Return whether a word passes; a word that waits must stay."""
        if not self._input(f"{channel}valid"):
            assert channel not in self._held
            return False
        values = [self._input(name) for name in payload]
        assert self._held.setdefault(channel, values) == values
        if not self._output(f"{channel}ready"):
            return False
        del self._held[channel]
        return True

    def cycle(self):
        drive_bus(
            self.gpu, self.state.inputs[0, CHANNEL_INPUTS:], self.state.outputs[0, CHANNEL_OUTPUTS:]
        )
        if self._passes("aw", "awaddr"):
            assert self._address is None
            self._address = self._input("awaddr")
        if self._passes("w", "wdata", "wstrb"):
            assert self._data is None and self._input("wstrb") == 0xF
            self._data = self._input("wdata")
        if self._passes("ar", "araddr"):
            assert self._read is None
            self._read = self._input("araddr")
            self._read_word = self._word(self._read)
        if self._output("bvalid") and self._input("bready"):
            self._set("bvalid", 0)
            self._address = self._data = None
        elif self._address is not None and self._data is not None and not self._output("bvalid"):
            if self._random.random() < self._pace:
                self.written.append((self._address, self._data))
                self._status[self._address & ~PAGE_MASK] = self._address in self._refused
                self._set("bvalid", 1)
        if self._output("rvalid") and self._input("rready"):
            self._set("rvalid", 0)
            is_check = self._read & PAGE_MASK == STATUS_OFFSET
            self.checks += is_check
            self.reads += not is_check
            self._read = None
        elif self._read is not None and not self._output("rvalid"):
            if self._random.random() < self._pace:
                self._set("rdata", self._read_word)
                self._set("rvalid", 1)
        self._set("awready", self._address is None and self._random.random() < self._pace)
        self._set("wready", self._data is None and self._random.random() < self._pace)
        self._set("arready", self._read is None)

    def _word(self, address):
        if address & PAGE_MASK == STATUS_OFFSET:
            others = 0xFFFF_FFFF & ~REFUSAL_MASK
            return others | self._status[address & ~PAGE_MASK] * (REFUSAL_MASK & -REFUSAL_MASK)
        return ~address & 0xFFFF_FFFF

    def run(self, cycles=5000):
        for _ in range(cycles):
            if bus_rests(self.gpu):
                return
            self.cycle()
        raise AssertionError("the manager does not come to an end")


def some_writes(count, seed=5):
    generator = random.Random(seed)
    return [(4 * generator.randrange(1, 4096), generator.getrandbits(32)) for _ in range(count)]


@pytest.mark.parametrize("pace", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_writes_arrive_once_and_in_order(seed, pace):
    bus = Subordinate(seed, pace)
    writes = some_writes(60)
    load_writes(bus.gpu, writes)
    assert not bus_idle(bus.gpu)
    bus.run()
    for _ in range(20):
        bus.cycle()
    assert bus.written == writes
    assert bus.checks == len(writes)
    assert bus.gpu["refused"] == -1


def test_next_list_is_written_after_the_first():
    bus = Subordinate(3)
    first, second = some_writes(10, 1), some_writes(7, 2)
    for writes in (first, second):
        load_writes(bus.gpu, writes)
        bus.run()
    assert bus.written == first + second


@pytest.mark.parametrize("place", range(5))
def test_refused_write_ends_the_list(place):
    """The write behind the refused one may be on its way."""
    writes = [(4, 1), (0x10, 2), (0x100C, 3), (0x20, 4), (0x1014, 5)]
    bus = Subordinate(4, refused={writes[place][0]})
    load_writes(bus.gpu, writes)
    bus.run()
    for _ in range(50):
        bus.cycle()
    assert bus.written == writes[: place + 2]
    assert bus.gpu["refused"] == writes[place][0]


@pytest.mark.parametrize("seed", range(5))
def test_read(seed):
    bus = Subordinate(seed, 0.4)
    for address in (0x10, 0x3FC):
        bus.gpu["read_address"] = address
        bus.run()
        assert bus.gpu["read_address"] == -1
        assert bus.gpu["read_value"] == ~address & 0xFFFF_FFFF
    assert bus.reads == 2


def test_reads_and_writes_do_not_disturb_each_other():
    bus = Subordinate(8)
    writes = some_writes(30)
    load_writes(bus.gpu, writes)
    while not bus_idle(bus.gpu):
        if bus.gpu["read_address"] < 0:
            bus.gpu["read_address"] = 0x20
        bus.cycle()
    bus.run()
    assert bus.written == writes
    assert bus.reads > 10


def test_manager_without_work_is_silent():
    bus = Subordinate()
    bus.cycle()
    for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
        assert bus._input(name) == 0


def test_list_that_is_too_long_is_refused():
    bus = Subordinate()
    load_writes(bus.gpu, some_writes(WRITES))
    with pytest.raises(ValueError, match="257 writes exceed the 256 that the list holds"):
        load_writes(bus.gpu, some_writes(WRITES + 1))
