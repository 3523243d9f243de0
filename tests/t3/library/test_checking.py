import pytest

import t3


def test_both_formats_and_engines_agree_with_numpy():
    result = t3.check(gpus=2, m=128, n=256, k=32, dtype="bf16", contexts=2, engine="golden", seed=5)
    assert result.passed


@pytest.mark.parametrize(
    ("options", "field"),
    [({"gpu": 4}, "gpu"), ({"gpus": 1}, "gpus"), ({"dtype": "fp8"}, "dtype")],
)
def test_bad_input_names_the_field(options, field):
    with pytest.raises(t3.InputError) as error:
        t3.check(**options)
    assert error.value.field == field
