import json

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli import mutate as command
from t3.verification.mutation import run
from t3.verification.mutation.campaign import Outcome
from t3.verification.mutation.netlist import Mutant
from t3.verification.mutation.report import LEAST_OF_A_BLOCK, as_dict, as_markdown, holds
from t3.verification.mutation.score import Score
from t3.verification.mutation.simulate import Death


def invoke(*arguments):
    app = typer.Typer()
    app.command()(command.mutate)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def outcome(block, *, killed, survived, same, seed=0):
    mutants = [
        Mutant(number, "inv", f"cell{number}", "A", 0, ("rtl/lib/queue.py:1",), "")
        for number in range(1, killed + survived + same + 1)
    ]
    deaths = {number: Death("a_test", "no") for number in range(1, killed + 1)}
    equivalent = set(range(killed + 1, killed + same + 1))
    return Outcome(block, seed, mutants, deaths, equivalent, 1.0)


def test_unknown_block(tmp_path):
    result = invoke("--block", "nothing", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "block: 'nothing' is not allowed; allowed: address_map, arbiter" in str(result.exception)
    assert not any(tmp_path.iterdir())


def test_score_leaves_out_what_is_equivalent():
    one = outcome("one", killed=30, survived=2, same=8)
    assert Score.of([one]).share == 30 / 32 and [m.number for m in one.survivors] == [39, 40]
    assert Score.of([one, outcome("two", killed=32, survived=0, same=0)]).share == 62 / 64


@pytest.mark.parametrize(
    ("counts", "enough"),
    [
        ([(100, 0), (100, 0)], True),
        ([(100, 0), (95, 5)], True),
        ([(300, 0), (94, 6)], False),  # enough of all, too few of a block
        ([(96, 4), (96, 4)], False),  # enough of each, too few of all
    ],
)
def test_what_must_hold(counts, enough):
    outcomes = [
        outcome(f"block{n}", killed=a, survived=b, same=3) for n, (a, b) in enumerate(counts)
    ]
    assert all(Score.of([each]).share >= LEAST_OF_A_BLOCK for each in outcomes) or not enough
    assert holds(outcomes) == enough


def test_a_block_is_judged_by_all_its_seeds():
    """90 % with one seed and all with another: enough of both together."""
    one = outcome("block", killed=90, survived=10, same=0, seed=1)
    two = outcome("block", killed=200, survived=0, same=0, seed=2)
    assert holds([one, two]) is False  # 96.7 % of all
    three = outcome("block", killed=200, survived=0, same=0, seed=3)
    assert holds([one, two, three]) is True
    page = as_markdown([one, two, three])
    assert "| block | 500 | 490 | 10 | 0 | 98.0% | 3 |" in page
    assert "| seed 1 | 100 | 90 | 10 | 0 | 90.0% | 1 |" in page


def test_page_lists_survivors():
    page = as_markdown([outcome("one", killed=30, survived=1, same=9)])
    assert "| one | 40 | 30 | 1 | 9 | 96.8% | 1 |" in page
    assert "| one | 0 | inv | `cell40.A[0]` | rtl/lib/queue.py:1 |" in page
    record = as_dict([outcome("one", killed=30, survived=0, same=10)], [3])
    assert record["seeds"] == [3] and record["outcomes"][0]["survivors"] == []


def test_a_bench_that_fails_does_not_end_the_others(tmp_path, monkeypatch):
    """It is named, in the page and the JSON too, and the exit code is 1."""

    def one(name, *, count, seed, folder):
        if name == "queue":
            raise AssertionError("1 of 3 tests failed in tb.queue.bench: a_test")
        return outcome(name, killed=30, survived=0, same=10, seed=seed)

    def here(task, arguments, waits):
        return [task(*each) for each in arguments]

    monkeypatch.setattr(run, "run_block", one)
    monkeypatch.setattr(run, "side_by_side", here)
    result = invoke("--block", "queue", "--block", "arbiter", "--seed", 5, "--out", tmp_path)
    assert result.exit_code == 1
    assert "queue: seed 5: 1 of 3 tests failed in tb.queue.bench: a_test" in result.output
    found = json.loads((tmp_path / "mutation.json").read_text())
    assert list(found["blocks"]) == ["arbiter"]
    assert [one["block"] for one in found["failing_benches"]] == ["queue"]
    assert "## Benches that fail" in (tmp_path / "mutation.md").read_text()


@pytest.mark.verify
def test_a_small_block(tmp_path):
    result = invoke("--block", "queue", "--mutants", 12, "--seed", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mutation.json", "mutation.md"]
    found = json.loads((tmp_path / "mutation.json").read_text())
    block = found["blocks"]["queue"]
    assert block["mutants"] == 12 and block["killed"] >= 9
    assert block["killed"] + block["survived"] + block["equivalent"] == 12
