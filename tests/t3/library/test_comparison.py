"""``t3.compare``: results that do not match, and files that are no results."""

import copy
import json

import pytest

import t3
from t3.cli.main import main
from tests.support.example_run import example_result


@pytest.fixture
def results():
    first = example_result().as_dict()
    return first, copy.deepcopy(first)


def test_values_and_results_alike(results, tmp_path):
    first, second = results
    second["configurations"]["t3"]["total_ns"] *= 2
    (tmp_path / "result.json").write_text(json.dumps(second))
    both = t3.compare(t3.Result(example_result()), tmp_path)
    assert both.table.loc[("t3", "total_ns"), "change"] == pytest.approx(1)
    assert both.inputs.empty and both.notes == []
    assert both.table.equals(t3.compare(first, second).table)
    assert "total_ns" in repr(both) and "<table" in both._repr_html_()


def test_results_of_different_kinds(results):
    first, second = results
    second["workload"]["m"] = 64
    second["version"] = "9.9"
    second["configurations"] = {"ideal": {**first["configurations"]["t3"], "new_ns": 1.0}}
    notes = " ".join(t3.compare(first, second).notes)
    assert "workloads differ" in notes
    assert f"{first['version']} and 9.9" in notes
    assert "no configuration in common" in notes
    assert "In only one of the results: ideal, " in notes
    assert "Measured in only one of the results: new_ns." in notes


def test_numbers_of_any_size_fit_the_table(results, tmp_path, capsys):
    first, second = results
    second["configurations"]["t3"]["total_ns"] = 1e300
    second["configurations"]["t3"]["gemm_ns"] = 1e-300
    for name, one in (("a", first), ("b", second)):
        (tmp_path / name).write_text(json.dumps(one))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    shown = capsys.readouterr().out
    assert "1.000e+297" in shown and max(map(len, shown.splitlines())) <= 80


def _changed(**change):
    return json.dumps({**example_result().as_dict(), **change})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (_changed()[:5000], "is not JSON: the file is cut short: "),
        (_changed(seed=float("nan")), "is not JSON: NaN is not a number of JSON"),
        (_changed(seed=float("inf")), "is not JSON: Infinity is not a number of JSON"),
        (_changed(configurations=[]), "is not a result of t3 run"),
        (
            _changed(configurations={"t3": {"total_ns": 1}}, version="0.0.1"),
            "is not a result of this version of t3 run: configuration 't3' lacks one of gemm",
        ),
        (_changed(configurations={"t3": 3}), "is not a result of this version of t3 run: "),
        ("", "is not JSON: the file is cut short: "),
    ],
)
def test_files_that_are_no_results(tmp_path, text, problem):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(t3.InputError) as caught:
        t3.compare(tmp_path, tmp_path)
    assert caught.value.field == str(tmp_path / "result.json")
    assert caught.value.problem.startswith(problem)
