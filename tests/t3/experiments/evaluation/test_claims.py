"""File of claims, and the comparison of our values with them."""

import math

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.evaluation.claims import Claim, Comparison, compare, known_claims, load_claims
from t3.experiments.evaluation.study import Case
from tests.support.example_study import CITED, example_study

FREE, STAGES = Case("free", 150.0), Case("stages", 150.0)
LINEAR = Case("stages", 150.0, CITED)
GOOD = """
[figure]
"Fig. 1" = "something"

[[claim]]
id = "one"
figure = "Fig. 1"
what = "speedup"
value = 1.5
unit = "x"
source = "N1"
confidence = "H"
metric = "speedup"
arguments = { configuration = "t3", statistic = "max" }

[[difference]]
topic = "one"
text = "two"
"""


def test_every_claim_can_be_computed():
    study = example_study()
    found = compare(study)
    assert [one.claim for one in found] == known_claims().claim
    for one in found:
        assert list(one.ours) == [*study.cases, LINEAR]
        for case, ours in one.ours.items():
            not_run = case.link == 75 and "doubled" in one.claim.id
            assert math.isnan(ours) == not_run, one.claim.id


def test_closed_forms_of_the_claims_agree_with_bytes_that_follow_them():
    found = {one.claim.id: one for one in compare(example_study())}
    exact = ("rs-reads-tp8", "writes-tp8", "writes-tp16", "total-tp8", "total-tp16", "ag-traffic")
    for name in exact:
        assert found[name].ours[Case("stages", 75.0)] == pytest.approx(
            found[name].claim.value, abs=0.06
        )


@pytest.mark.parametrize(
    ("relation", "unit", "value", "ours", "difference", "agrees"),
    [
        ("is", "x", 1.25, 1.5, 20, False),
        ("is", "x", 1.25, 1.2, -4, True),
        ("is", "%", 12.0, 15.0, 3, False),
        ("is", "%", 12.0, 10.5, -1.5, True),
        ("at most", "%", 4.0, 3.9, -0.1, True),
        ("at most", "%", 4.0, 4.1, 0.1, False),
        ("at least", "%", 15.0, 14.0, -1.0, False),
        ("grows", "%", 0.0, 0.1, 0.1, True),
        ("shrinks", "%", 0.0, 0.1, 0.1, False),
        ("is", "%", 12.0, float("nan"), float("nan"), False),
    ],
)
def test_difference(relation, unit, value, ours, difference, agrees):
    claim = known_claims().claim[0]
    changed = {"relation": relation, "unit": unit, "value": value}
    one = Comparison(claim=Claim.model_validate(claim.model_dump() | changed), ours={FREE: ours})
    assert one.difference(FREE) == pytest.approx(difference, nan_ok=True)
    assert one.agrees(FREE) == agrees


@pytest.mark.parametrize(
    ("free", "stages", "linear", "where"),
    [
        (1.2, 1.3, 1.25, "all"),
        (1.2, 2.0, 2.0, "free"),
        (2.0, 1.2, 1.2, f"stages, {CITED}"),
        (2.0, float("nan"), 2.0, "none"),
    ],
)
def test_a_claim_says_in_which_case_it_holds(free, stages, linear, where):
    changed = known_claims().claim[0].model_dump() | {"unit": "x", "value": 1.25}
    ours = {FREE: free, STAGES: stages, LINEAR: linear}
    one = Comparison(claim=Claim.model_validate(changed), ours=ours)
    assert one.holds_in([FREE, STAGES, LINEAR]) == where


def test_no_two_claims_compare_the_same_number_of_the_paper():
    about = [
        (one.figure, one.what.partition(";")[0], one.value, one.unit)
        for one in known_claims().claim
    ]
    assert len(set(about)) == len(about)


def test_a_good_file_loads(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(GOOD)
    (claim,) = load_claims(path).claim
    assert (claim.relation, claim.reason) == ("is", "")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('metric = "speedup"', 'metric = "speed"', "metric: 'speed' is not allowed"),
        (', statistic = "max"', "", "arguments: speedup: missing a required argument: 'statistic'"),
        ('statistic = "max"', 'statistik = "max"', "arguments: speedup: missing a required"),
        ('figure = "Fig. 1"', 'figure = "Fig. 2"', "'Fig. 2' is not allowed; allowed: Fig. 1"),
        ("value = 1.5", "", "value: missing"),
        ('unit = "x"', 'unit = "us"', "unit: 'us' is not allowed; allowed: 'x', '%'"),
        ("[[difference]]", "[[differences]]", "difference: missing"),
        ('source = "N1"', 'sources = "N1"', "claim.0.source: missing"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path, old, new, problem):
    path = tmp_path / "claims.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as error:
        load_claims(path)
    assert str(error.value).startswith("claims.toml") and problem in str(error.value)


def test_an_id_twice_is_refused(tmp_path):
    path = tmp_path / "claims.toml"
    claim = GOOD[GOOD.index("[[claim]]") : GOOD.index("[[difference]]")]
    path.write_text(GOOD + claim)
    with pytest.raises(InputError, match="'one' occurs twice"):
        load_claims(path)
