"""The golden tracker's update stage against the rules of the page."""

import pytest
from golden_state import fresh_state

from rtl.layouts import ErrorCode
from sysmodel.golden.state import COMPLETION, B, C
from sysmodel.golden.tracker import accept, clear_bank, update_entry


@pytest.fixture
def bank():
    state = fresh_state(sector_bits=4)
    at = state.config[C.at_banks]
    for _ in range(state.config[C.rows]):
        clear_bank(state, at, False)
    assert not state.memory[at + B.clearing]
    return state, at


def track(bank, *, end=0, place=3, wavefront=1, atom=100, count=1, sectors=0, edges=(0, 0)):
    """Run one input through the update stage: error code, and the completion or None."""
    state, at = bank
    accept(state.memory, at, end, place, wavefront, atom, count, sectors, *edges)
    code = update_entry(state, at) & 255
    if not state.memory[at + B.level]:
        return code, None
    state.memory[at + B.level] = 0
    record = at + B.body + state.memory[at + B.head] * 16
    return code, tuple(state.memory[record : record + len(COMPLETION)])


@pytest.mark.parametrize("end_at", range(7))
def test_tracker_completes_at_the_threshold_once(bank, end_at):
    atoms = [90, 70, 80, 75, 60, 99]
    found = []
    for index in range(7):
        if index == end_at:
            found.append(track(bank, end=1, sectors=3, edges=(1, 0)))
        else:
            found.append(track(bank, atom=atoms.pop()))
    assert [code for code, _ in found] == [0] * 7
    assert [completion for _, completion in found[:-1]] == [None] * 6
    assert found[-1][1] == (3, 1, 60, 1, 0)


def test_tracker_frees_the_entry(bank):
    for _ in range(2):
        track(bank, end=1, sectors=1)
        assert track(bank, atom=5) == (0, None)
        assert track(bank, atom=7) == (0, (3, 1, 5, 0, 0))


def test_tracker_errors(bank):
    code = ErrorCode
    assert track(bank, end=1, sectors=0) == (code.ZERO_THRESHOLD.value, None)
    assert track(bank, end=1, sectors=2) == (0, None)
    assert track(bank, end=1, sectors=2) == (code.SECOND_TILE_END.value, None)
    for place in (3 + 8, 3 + 16):
        track(bank, place=place)
    assert track(bank, place=3 + 24) == (code.SET_FULL.value, None)


def test_tracker_overrun(bank):
    for _ in range(3):
        assert track(bank)[0] == 0
    assert track(bank, end=1, sectors=1) == (ErrorCode.OVERRUN.value, None)
    assert track(bank, end=1, sectors=1) == (0, None)  # the entry was freed


def test_tracker_count_overflow(bank):
    for _ in range(63):
        assert track(bank)[0] == 0
    assert track(bank) == (ErrorCode.COUNT_OVERFLOW.value, None)
    assert track(bank)[0] == 0


def test_tracker_counts_updates_together(bank):
    assert track(bank, end=1, sectors=9, count=5) == (0, None)
    assert track(bank, atom=40, count=15) == (0, None)
    assert track(bank, atom=30, count=3) == (0, (3, 1, 30, 0, 0))
    assert track(bank, end=1, sectors=1) == (0, None)
    assert track(bank, count=3) == (ErrorCode.OVERRUN.value, None)


def test_tracker_count_overflow_by_more_than_one(bank):
    for _ in range(4):
        assert track(bank, count=15)[0] == 0
    assert track(bank, count=4) == (ErrorCode.COUNT_OVERFLOW.value, None)
