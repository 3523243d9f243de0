"""Python's garbage collector: restored when the last slowed block ends."""

import gc
from contextlib import ExitStack

import pytest

from sysmodel.lib.collector import collects_rarely


@pytest.fixture(autouse=True)
def python_s_default():
    """Set Python's own rate, which the tests' settings change."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_as_before_after_an_error():
    before = gc.get_threshold()
    with pytest.raises(OSError, match="none"), collects_rarely():
        assert gc.get_threshold()[0] > 100 * before[0] and gc.isenabled()
        raise OSError("none")
    assert gc.get_threshold() == before


def test_as_before_once_all_have_left():
    # As threads do it: who came first leaves first.
    before = gc.get_threshold()
    first, second = ExitStack(), ExitStack()
    first.enter_context(collects_rarely())
    second.enter_context(collects_rarely())
    first.close()
    assert gc.get_threshold()[0] > 100 * before[0]
    second.close()
    assert gc.get_threshold() == before
