import json
from concurrent.futures import Future

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli import mutate as command
from verification.mutation import checkpoint, run
from verification.mutation.campaign import CampaignResult
from verification.mutation.checkpoint import CampaignCheckpoint
from verification.mutation.netlist import Mutant
from verification.mutation.report import LEAST_OF_A_BLOCK, as_dict, as_markdown, holds
from verification.mutation.score import Score
from verification.mutation.simulate import Death


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
    return CampaignResult(block, seed, mutants, deaths, equivalent, 1.0)


def test_unknown_block(tmp_path):
    result = invoke("--block", "nothing", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "block: 'nothing' is not allowed; allowed: address_map, arbiter" in str(result.exception)
    assert not any(tmp_path.iterdir())


def test_score_leaves_out_equivalent_mutants():
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
def test_bounds(counts, enough):
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


def run_here(function, arguments, *, done, tick, before=lambda *job: None):
    """Run jobs in this process, one after the other."""
    for index, job in enumerate(arguments):
        before(*job)
        future = Future()
        future.set_result(function(*job))
        done(index, future)
        tick()


def test_a_bench_that_fails_does_not_end_the_others(tmp_path, monkeypatch):
    """The page and the JSON name the bench, and the exit code is 1."""

    def one(name, *, count, seed, folder):
        if name == "queue":
            raise AssertionError("1 of 3 tests failed in tb.queue.bench: a_test")
        return outcome(name, killed=30, survived=0, same=10, seed=seed)

    monkeypatch.setattr(run, "run_block", one)
    monkeypatch.setattr(run, "run_jobs", run_here)
    result = invoke("--block", "queue", "--block", "arbiter", "--seed", 5, "--out", tmp_path)
    assert result.exit_code == 1
    assert "queue: seed 5: 1 of 3 tests failed in tb.queue.bench: a_test" in result.output
    found = json.loads((tmp_path / "mutation.json").read_text())
    assert list(found["blocks"]) == ["arbiter"]
    assert [one["block"] for one in found["failing_benches"]] == ["queue"]
    assert "## Benches that fail" in (tmp_path / "mutation.md").read_text()


def test_progress_counts_a_campaign_that_has_ended_as_a_whole(tmp_path, monkeypatch):
    """Whatever its last stage had to simulate; and it never falls."""
    shares = []

    def one(name, *, count, seed, folder):
        return outcome(name, killed=30, survived=0, same=10, seed=seed)

    def here(function, arguments, *, done, tick):
        def before(name, count, seed, folder):
            folder.mkdir(parents=True)
            for simulated in (10, 2):
                (folder / run.RESULTS).write_text("{}\n" * simulated)
                tick()

        run_here(function, arguments, done=done, tick=tick, before=before)

    monkeypatch.setattr(run, "run_block", one)
    monkeypatch.setattr(run, "run_jobs", here)
    saved = CampaignCheckpoint(tmp_path / "partial", count=40)
    saved.begin([1])
    run.run(
        ["queue", "arbiter"],
        count=40,
        seeds=[1],
        checkpoint=saved,
        progress=lambda _, share: shares.append(share),
    )
    assert shares == [one / 80 for one in (10, 10, 40, 50, 50, 80)]


@pytest.fixture
def campaigns(monkeypatch):
    """Let every campaign end at once, but for a block that is named; lists those that ran."""
    ran, interrupted = [], set()

    def one(name, *, count, seed, folder):
        if name in interrupted:
            raise KeyboardInterrupt
        ran.append((name, seed))
        return outcome(name, killed=30, survived=0, same=10, seed=seed)

    monkeypatch.setattr(run, "run_block", one)
    monkeypatch.setattr(run, "run_jobs", run_here)
    return ran, interrupted


def test_finished_mutants_are_not_run_again(tmp_path, campaigns):
    ran, interrupted = campaigns
    blocks = ("--block", "queue", "--block", "arbiter", "--out", tmp_path)
    interrupted.add("queue")
    assert invoke(*blocks).exit_code != 0
    seeds = [seed for _, seed in ran]
    assert ran == [("arbiter", seed) for seed in seeds] and len(set(seeds)) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["mutation.partial.jsonl"]
    # The same command continues, with the seeds drawn before.
    interrupted.clear()
    ran.clear()
    assert invoke(*blocks).exit_code == 0
    assert ran == [("queue", seed) for seed in seeds]
    found = json.loads((tmp_path / "mutation.json").read_text())
    assert found["seeds"] == seeds
    assert found["blocks"]["arbiter"]["killed"] == 90
    names = ["mutation-summary.md", "mutation.json", "mutation.md"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    # All campaigns have ended: the next run is a new one.
    ran.clear()
    assert invoke(*blocks).exit_code == 0
    assert len(ran) == 6 and not {seed for _, seed in ran} & set(seeds)


@pytest.mark.parametrize("changed", [("--seed", "7"), ("--mutants", "3")])
def test_another_run_takes_nothing_of_it(tmp_path, campaigns, changed):
    ran, interrupted = campaigns
    blocks = ("--block", "queue", "--block", "arbiter", "--out", tmp_path)
    interrupted.add("queue")
    invoke(*blocks, "--seed", 5)
    interrupted.clear()
    ran.clear()
    assert (
        invoke(*blocks, *(("--seed", 5) if changed[0] != "--seed" else ()), *changed).exit_code == 0
    )
    assert {name for name, _ in ran} == {"arbiter", "queue"}


def test_results_of_other_sources_are_not_taken(tmp_path, campaigns, monkeypatch):
    ran, interrupted = campaigns
    interrupted.add("queue")
    blocks = ("--block", "queue", "--block", "arbiter", "--seed", 5, "--out", tmp_path)
    invoke(*blocks)
    interrupted.clear()
    ran.clear()
    monkeypatch.setattr(checkpoint, "digest", lambda *_: "of other sources")
    assert invoke(*blocks).exit_code == 0
    assert len(ran) == 2


def test_a_saved_result_is_read_back(tmp_path):
    one = outcome("queue", killed=3, survived=2, same=1, seed=9)
    path = tmp_path / "partial"
    saved = CampaignCheckpoint(path, count=6)
    saved.begin([9])
    saved.save(one)
    for again in (saved, CampaignCheckpoint(path, count=6)):
        assert again.result("queue", 9) == one
        assert again.result("queue", 8) is None
    assert CampaignCheckpoint(path, count=7).result("queue", 9) is None
    path.write_bytes(path.read_bytes()[:-9])
    assert CampaignCheckpoint(path, count=6).result("queue", 9) is None


@pytest.mark.verify
def test_a_small_block(tmp_path):
    result = invoke("--block", "queue", "--mutants", 12, "--seed", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    names = ["mutation-summary.md", "mutation.json", "mutation.md"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    found = json.loads((tmp_path / "mutation.json").read_text())
    block = found["blocks"]["queue"]
    assert block["mutants"] == 12 and block["killed"] >= 9
    assert block["killed"] + block["survived"] + block["equivalent"] == 12
