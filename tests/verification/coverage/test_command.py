import json
from collections import Counter

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli import coverage as command
from verification.coverage import run
from verification.coverage.measure import BlockCoverage


def invoke(*arguments):
    app = typer.Typer()
    app.command()(command.coverage)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_unknown_block(tmp_path):
    result = invoke("--block", "nothing", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "block: 'nothing' is not allowed; allowed: address_map, arbiter" in str(result.exception)
    assert not any(tmp_path.iterdir())


def test_a_bench_that_fails_does_not_end_the_others(tmp_path, monkeypatch):
    """The page and the JSON name the bench, and the exit code is 1."""

    def one(name, *, seed, folder):
        if name == "queue":
            raise AssertionError("1 of 3 tests failed in tb.queue.bench: a_test")
        return BlockCoverage(name, Counter(), {"a point": 1})

    def here(task, arguments, waits):
        return [task(*each) for each in arguments]

    monkeypatch.setattr(run, "measure", one)
    monkeypatch.setattr(run, "map_jobs", here)
    result = invoke("--block", "queue", "--block", "arbiter", "--out", tmp_path)
    assert result.exit_code == 1
    assert "queue: 1 of 3 tests failed in tb.queue.bench: a_test" in result.output
    found = json.loads((tmp_path / "coverage.json").read_text())
    assert [block["block"] for block in found["blocks"]] == ["arbiter"]
    assert [one["block"] for one in found["failing_benches"]] == ["queue"]
    assert "## Benches that fail" in (tmp_path / "coverage.md").read_text()


@pytest.mark.verify
def test_a_small_block(tmp_path, capfd):
    result = invoke("--block", "queue", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "make:" not in capfd.readouterr().out
    names = ["coverage-summary.md", "coverage.json", "coverage.md"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    (block,) = json.loads((tmp_path / "coverage.json").read_text())["blocks"]
    assert block["functional"] == {"hit": 7, "points": 7}
    for kind in ("line", "toggle"):
        assert 0.8 * block[kind]["points"] < block[kind]["hit"] <= block[kind]["points"]
