"""Random arguments and files: success, or one line that names the mistake and nothing written.

Each seed is a case of its own: ``pytest -k 'test_case and [123]'`` repeats it.
"""

import pytest

from tests.t3.fuzz.execution import violations
from tests.t3.fuzz.generator import make_case

_SEEDS = range(1000)
_EARLY = range(200)
# Seed 156 simulates mi300x, for whose deep memory queue the cycle loop is compiled once more.
_LONG = {156, *_SEEDS[len(_EARLY) :]}


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.verify] * (seed in _LONG)) for seed in _SEEDS],
)
def test_case(seed, tmp_path, monkeypatch):
    case = make_case(seed)
    found = violations(case, tmp_path, monkeypatch)
    assert not found, f"seed {seed}: {case.what}\n" + "\n".join(found)


def test_a_seed_makes_the_same_case_again():
    for seed in _EARLY:
        one, other = make_case(seed), make_case(seed)
        assert (str(one.what), one.files) == (str(other.what), other.files)
