"""The module ``t3`` itself."""

import doctest
import subprocess
import sys

import pytest

import t3
from t3.library import (
    checking,
    comparison,
    hardware,
    memories,
    modelling,
    simulation,
    sweeping,
    systems,
    validation,
)


@pytest.mark.parametrize(
    "module",
    [
        *(checking, comparison, memories, modelling, systems, validation),
        # An export, runs and a sweep; the other tests of this folder have shorter ones.
        *(
            pytest.param(module, marks=pytest.mark.verify)
            for module in (hardware, simulation, sweeping)
        ),
    ],
)
def test_examples_of_the_documentation(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_import_is_quick_and_loads_nothing_heavy():
    code = (
        "import t3, sys; print(sorted({'numba', 'pandas', 'amaranth', 'numpy'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_everything_public_is_there():
    for name in t3.__all__:
        assert getattr(t3, name) is not None
    assert {*t3.__all__} <= {*dir(t3)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = t3.nothing
