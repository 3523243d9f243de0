import json

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError, SimulationError
from t3.cli.exhaust import exhaust
from verification.arithmetic import unit
from verification.arithmetic.pairs import BATCH_PAIRS

app = typer.Typer()
app.command()(exhaust)


def t3(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_result_of_a_part(tmp_path):
    chosen = ["--dtype", "fp32", "--operation", "max", "--pairs", BATCH_PAIRS + 1, "--seed", 541]
    done = t3("--out", tmp_path / "new", *chosen)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"seed 541\nfp32 max: {2 * BATCH_PAIRS:,} pairs, 0 mismatches, ")
    result = json.loads((tmp_path / "new" / "arithmetic.json").read_text())
    assert result["seed"] == 541
    assert result["program"].startswith("t3 ")
    assert {"revision", "atom_bytes"} <= set(result)
    (run,) = result["runs"]
    assert run.pop("seconds") >= 0
    assert run.pop("processor_seconds") >= 0  # few pairs take less than its last digit
    assert run == {
        "dtype": "fp32",
        "operation": "max",
        "pairs": 2 * BATCH_PAIRS,
        "mismatches": 0,
        "first_mismatches": [],
    }


def test_all_operations_by_default(tmp_path):
    done = t3("--out", tmp_path, "--dtype", "fp32", "--pairs", 1)
    assert done.exit_code == 0
    runs = json.loads((tmp_path / "arithmetic.json").read_text())["runs"]
    assert [run["operation"] for run in runs] == ["sum", "max", "min"]


def test_mismatches_are_shown_and_written(tmp_path, monkeypatch):
    reduce = unit.NativeUnit.reduce
    # The lowest bit of every number is stuck at one.
    monkeypatch.setattr(
        unit.NativeUnit, "reduce", lambda *arguments: reduce(*arguments) | 0x0000_0001_0000_0001
    )
    done = t3("--out", tmp_path, "--dtype", "fp32", "--operation", "min", "--pairs", 1)
    assert done.exit_code == 1
    (run,) = json.loads((tmp_path / "arithmetic.json").read_text())["runs"]
    assert BATCH_PAIRS / 4 < run["mismatches"] < BATCH_PAIRS
    assert len(run["first_mismatches"]) == 5
    for one in run["first_mismatches"]:
        assert int(one["found"], 16) == int(one["expected"], 16) | 1
        line = "  {stored}, {operand}: expected {expected}, found {found}\n".format(**one)
        assert line in done.output


def test_a_result_that_does_not_come_in_time_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(unit.NmcUnit, "LATENCY", unit.NmcUnit.LATENCY - 2)
    done = t3("--out", tmp_path / "new", "--dtype", "fp32", "--pairs", 1)
    requests = BATCH_PAIRS // 2
    assert isinstance(done.exception, SimulationError)
    assert str(done.exception) == (
        f"the reduce unit gave {requests - 1} results for {requests} requests"
    )
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "field", "problem"),
    [
        (["--dtype", "fp8"], "dtype", "'fp8' is not allowed; allowed: bf16, fp16, fp32"),
        (["--operation", "mul"], "operation", "'mul' is not allowed; allowed: max, min, sum"),
    ],
)
def test_bad_input(tmp_path, arguments, field, problem):
    done = t3("--out", tmp_path / "new", *arguments)
    assert isinstance(done.exception, InputError)
    assert (done.exception.field, done.exception.problem) == (field, problem)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("pairs", ["0", "x"])
def test_bad_number_of_pairs(tmp_path, pairs):
    done = t3("--out", tmp_path / "new", "--pairs", pairs)
    assert done.exit_code == 2
    assert not (tmp_path / "new").exists()
