"""``t3.system``: a dictionary has the keys and the checks of a TOML file."""

import pytest

import t3

_SLOW = {"base": "asplos24", "link": {"bandwidth_gb_per_s": 75}}


@pytest.mark.parametrize(
    "source",
    [
        _SLOW,
        {"base": "asplos24", "link.bandwidth_gb_per_s": 75.0},
        {"base": "asplos24", "link": {"bandwidth_gb_per_s": 75}, "link.latency_ns": 500},
    ],
)
def test_a_dictionary_is_a_file(tmp_path, source):
    file = tmp_path / "custom.toml"
    file.write_text('base = "asplos24"\n[link]\nbandwidth_gb_per_s = 75\nlatency_ns = 500\n')
    words = {"source"}
    assert t3.system(source).model_dump(exclude=words) == t3.system(file).model_dump(exclude=words)
    assert t3.system(t3.system(file)) == t3.system(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": None}, "source: base: None is not allowed; allowed: a100"),
        ({"base": "h900"}, "source: base: 'h900' is not known; allowed: a100"),
        ({"link": 3}, "source: link: 3 is not allowed; allowed: a section"),
        ({"link.latency_ns": float("nan")}, "source: link.latency_ns: nan is not allowed"),
        ({"link.latency_ns": float("inf")}, "source: link.latency_ns: inf is not allowed"),
        ({"link.latency": 3}, "source: link.latency: unknown key; did you mean latency_ns?"),
        ({"link.bandwidth_gb_per_s": 3}, "link.bandwidth_gb_per_s: given twice"),
        ({"gpu": {"compute_units": 0}}, "source: gpu.compute_units: 0 is not allowed"),
    ],
)
def test_checks_are_those_of_a_file(change, message):
    with pytest.raises(t3.InputError) as caught:
        t3.system({**_SLOW, **change})
    assert str(caught.value).startswith(message)


def test_a_dictionary_without_a_base():
    with pytest.raises(t3.InputError, match='^source: base: missing; add base = "asplos24"'):
        t3.system({"link": {"bandwidth_gb_per_s": 75}})
