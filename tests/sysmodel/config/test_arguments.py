"""Arguments of Python: integers of any kind become Python's own, and the rest is refused."""

from fractions import Fraction
from typing import Annotated

import numpy as np
import pandas as pd
import pytest

from sysmodel.config.arguments import checked, checked_path, plain
from sysmodel.config.schema import integer, number
from sysmodel.config.workload import Workload, custom_gemm
from sysmodel.lib.errors import InputError
from sysmodel.runs.options import RunOptions

_SIZES = {"m": 2048, "n": 1536, "k": 1024, "tp": 4}


class Index:
    """Integer of another library."""

    def __index__(self) -> int:
        return 4


class Broken:
    """Value that cannot show itself."""

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.int32, np.array])
def test_integers_of_any_kind(kind):
    value = checked("tp", kind(4), Annotated[int, integer(2, 64)])
    assert (type(value), value) == (int, 4)
    assert checked("tp", Index(), Annotated[int, integer(2, 64)]) == 4


def test_a_size_does_not_wrap_around():
    sizes = {name: np.int32(value) for name, value in _SIZES.items()}
    assert custom_gemm(**sizes).flops == 2 * 2048 * 1536 * 1024


_BAD = [1024.0, "1024", True, None, -1, 0, 10**5000, np.float64(4), np.bool_(True), [4], Broken()]


@pytest.mark.parametrize("value", _BAD, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", _SIZES)
def test_the_rest_is_refused_by_name(name, value):
    with pytest.raises(InputError) as caught:
        Workload(model="x", layer="y", **{**_SIZES, name: value})
    assert caught.value.field == name
    assert "allowed: an integer from " in caught.value.problem
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_numbers_that_are_none(value):
    with pytest.raises(InputError, match="^rate: .* allowed: a number from 0 to 1e\\+06"):
        checked("rate", value, Annotated[float, number(0, 1e6)])


def test_values_of_other_libraries_become_plain():
    given = {"a": np.arange(3), "b": (np.float32(0.5), np.str_("x")), "c": pd.Series([1, 2])}
    assert plain(given) == {"a": [0, 1, 2], "b": [0.5, "x"], "c": [1, 2]}
    assert plain(Fraction(1, 2)) == 0.5
    assert type(plain(np.str_("x"))) is str


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"engine": None}, "engine"),
        ({"engine": 3}, "engine"),
        ({"gpus": ["mirror"]}, "gpus"),
        ({"channels": True}, "channels"),
        ({"channels": 2.0}, "channels"),
        ({"configurations": 3}, "configurations"),
        ({"configurations": {"t3"}}, "configurations"),
        ({"configurations": ["t3", 4]}, "configurations"),
        ({"repeat": 2.5}, "repeat"),
        ({"seed": "x"}, "seed"),
        ({"waves": (1,)}, "waves"),
        ({"waves": "1:2"}, "waves"),
        ({"waves_file": 3}, "waves_file"),
    ],
)
def test_options_of_a_run(options, field):
    with pytest.raises(InputError) as caught:
        RunOptions(**options)
    assert caught.value.field == field
    assert "allowed: " in caught.value.problem


def test_options_are_converted():
    options = RunOptions(channels=np.int64(4), configurations=["t3"], waves=(np.uint8(1), 9))
    assert (options.channels, options.configurations, options.waves) == (4, ("t3",), (1, 9))
    assert type(options.channels) is int
    assert RunOptions(configurations="t3").configurations == ("t3",)


@pytest.mark.parametrize("value", ["", 3, None, b"x", "a\0b"])
def test_values_that_are_no_path(value):
    with pytest.raises(InputError, match="^out: .* allowed: a path"):
        checked_path("out", value)
