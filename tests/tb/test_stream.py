from types import SimpleNamespace

import pytest

from tb.stream import StreamChecker


class Port:
    """Port as cocotb has it; ``None`` is a value other than 0 or 1."""

    _name = "port"

    def __init__(self, value=0):
        self.value = value

    @property
    def value(self):
        return self._value if self._value is not None else "x"

    @value.setter
    def value(self, value):
        self._value = value


@pytest.fixture
def dut():
    ports = ("s__valid", "s__ready", "s__payload", "free__valid", "free__payload")
    return SimpleNamespace(**{name: Port() for name in ports})


def play(checker, dut, cycles):
    """Run cycles of the stream ``s``: valid, ready, payload."""
    for valid, ready, payload in cycles:
        dut.s__valid.value, dut.s__ready.value, dut.s__payload.value = valid, ready, payload
        checker.sample()


def test_counts(dut):
    checker = StreamChecker(dut, ("s", "free"))
    dut.free__valid.value = 1
    play(checker, dut, [(0, 0, 3), (1, 0, 5), (1, 0, 5), (1, 1, 5), (1, 1, 6), (0, 1, 7)])
    assert checker.transfers == {"s": 2, "free": 6}
    assert checker.stalls == {"s": 2}


def test_withdrawn(dut):
    with pytest.raises(AssertionError, match="s withdrew"):
        play(StreamChecker(dut, ("s",)), dut, [(1, 0, 5), (0, 0, 5)])


def test_changed(dut):
    with pytest.raises(AssertionError, match="s changed from"):
        play(StreamChecker(dut, ("s",)), dut, [(1, 0, 5), (1, 1, 6)])


def test_unheld_may_change(dut):
    checker = StreamChecker(dut, (), unheld=("s",))
    play(checker, dut, [(1, 0, 5), (1, 0, 6), (0, 0, 0)])
    assert checker.stalls["s"] == 2


@pytest.mark.parametrize("cycle", [(None, 0, 0), (0, None, 0), (1, 1, None)])
def test_unknown_value(dut, cycle):
    with pytest.raises(AssertionError, match="port is x"):
        play(StreamChecker(dut, ("s",)), dut, [cycle])


def test_payload_counts_only_while_valid(dut):
    play(StreamChecker(dut, ("s",)), dut, [(0, 1, None), (1, 1, 3)])
