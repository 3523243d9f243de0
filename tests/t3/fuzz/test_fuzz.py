"""Random arguments and files: success, or one line that names the mistake and nothing written.

Each seed is a case of its own: ``pytest -k 'test_case and [123]'`` repeats it.
"""

import pytest

from tests.t3.fuzz.execution import violations
from tests.t3.fuzz.generator import make_case

_QUICK = range(200)
_LONG = range(200, 1000)


@pytest.mark.parametrize(
    "seed", [*_QUICK, *(pytest.param(seed, marks=pytest.mark.verify) for seed in _LONG)]
)
def test_case(seed, tmp_path, monkeypatch):
    case = make_case(seed)
    found = violations(case, tmp_path, monkeypatch)
    assert not found, f"seed {seed}: {case.what}\n" + "\n".join(found)


def test_a_seed_makes_the_same_case_again():
    for seed in _QUICK:
        one, other = make_case(seed), make_case(seed)
        assert (str(one.what), one.files) == (str(other.what), other.files)
