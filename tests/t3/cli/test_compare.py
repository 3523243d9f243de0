"""``t3 compare``: differences of two results."""

import json

import pytest

from t3.cli.main import main
from tests.support.example_run import example_result


@pytest.fixture
def results(tmp_path):
    """Folders of a result, and of one with another link, whose ``t3`` takes 10 % longer."""
    first = example_result().as_dict()
    second = json.loads(json.dumps(first))
    second["system"]["link"]["bandwidth_gb_per_s"] = 75.0
    second["system"]["name"] = "slow"
    second["configurations"]["t3"]["total_ns"] *= 1.1
    second["configurations"]["t3"]["gemm_ns"] *= 1.005
    del second["configurations"]["t3-mca"]
    for name, result in (("first", first), ("second", second)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(result))
    return tmp_path / "first", tmp_path / "second"


def test_only_differences_are_listed(results, capsys):
    first, second = results
    assert main(["compare", str(first), str(second / "result.json")]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["system.link.bandwidth_gb_per_s", "150.0", "75.0"] in rows
    (changed,) = (row for row in rows if row[:2] == ["t3", "total,"])
    assert changed[-1] == "+10.0"
    assert not any(row[:2] == ["t3", "gemm,"] for row in rows)
    assert not any(row[:1] == ["sequential"] for row in rows)
    assert "In only one of the results: t3-mca." in shown
    assert "slow" not in shown


def test_a_result_and_itself(results, capsys):
    assert main(["compare", *map(str, (results[0], results[0]))]) == 0
    assert (
        capsys.readouterr().out
        == "Workload, system and options are equal.\nNo measured value differs by 1 % or more.\n"
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is not JSON: "),
        ("[]", "is not a result of t3 run"),
        ('{"workload": {}, "system": {}, "configurations": []}', "is not a result of t3 run"),
        ("[" * 100_000, "is not JSON: "),
    ],
)
def test_files_that_are_no_result(results, tmp_path, fails, content, problem):
    file = tmp_path / "other.json"
    if content is not None:
        file.write_text(content)
    assert fails(["compare", str(results[0]), str(file)]).startswith(f"{file}: {problem}")
