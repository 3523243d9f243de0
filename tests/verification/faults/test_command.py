"""``t3 faults``, and its report on hardware without protection."""

import json

import pytest
import typer
from typer.testing import CliRunner

import rtl.lib.protected_memory
import rtl.lib.protected_queue
import rtl.link.flow
import rtl.tracker.table
from sysmodel.lib.errors import InputError
from t3.cli import faults as command
from verification.faults.context_kinds import KINDS as CONTEXT_KINDS
from verification.faults.link_kinds import KINDS as LINK_KINDS
from verification.faults.outcome import Verdict
from verification.faults.registry import KINDS
from verification.seeded_bugs.bug import SeededBug
from verification.seeded_bugs.table import bug_of

app = typer.Typer()
app.command()(command.faults)

CORRECTS_NOTHING = SeededBug(
    module="rtl.lib.secded",
    block="SecdedCheck",
    fault="gives the word as it was read",
    right="Value.cast(self.o).eq(read ^ flips)",
    wrong="Value.cast(self.o).eq(read)",
)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Run in this process: only here are bugs seeded, and starting others takes long."""
    inject_all = command.inject_all
    monkeypatch.setattr(command, "inject_all", lambda *a, **b: inject_all(*a, **b, workers=1))


def t3(out, kinds, count, seed):
    chosen = [argument for kind in kinds for argument in ("--kind", kind)]
    arguments = ["--out", out, "--faults", count, "--seed", seed, *chosen]
    done = CliRunner().invoke(app, [*map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done, json.loads((out / "faults.json").read_text())


def names(kinds):
    return [kind.name for kind in kinds]


def test_unknown_kind(tmp_path):
    with pytest.raises(InputError, match="'flood' is not allowed; allowed: contexts-") as caught:
        t3(tmp_path / "new", ["flood"], 1, 0)
    assert caught.value.field == "kind"
    assert not (tmp_path / "new").exists()


def assert_all_is_well(tmp_path, kinds, count, seed):
    done, result = t3(tmp_path / "new", names(kinds), count, seed)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"seed {seed}\n")
    assert result["seed"] == seed
    assert result["failures"] == 0
    assert count <= result["faults"] == sum(one["faults"] for one in result["kinds"])
    assert [one["kind"] for one in result["kinds"]] == names(kinds)
    for one in result["kinds"]:
        assert sum(one["outcomes"].values()) == one["faults"] > 0
        assert sum(one["codes"].values()) == one["outcomes"]["reported"]
        assert not one["failures"]
        for cycles in ("report", "delay"):
            assert (one[f"{cycles}_cycles"] or 0) <= (one[f"{cycles}_bound_cycles"] or 0)
    page = (tmp_path / "new" / "faults.md").read_text()
    assert page.startswith("# Faults\n\nMade by `t3 faults")
    assert all(f"| {kind.name} | " in page for kind in kinds)
    return {one["kind"]: one for one in result["kinds"]}, page


@pytest.mark.verify
def test_links(tmp_path):
    found, page = assert_all_is_well(tmp_path, LINK_KINDS, 140, 881)
    assert "Unprotected memories" not in page
    assert found["flit-lost"]["outcomes"]["corrected"] > 10
    assert found["flit-corrupted"]["outcomes"]["corrected"] == 20
    assert found["link-dead"]["codes"] == {"LINK_DOWN": 20}


@pytest.mark.verify
def test_the_seed_decides(tmp_path):
    kinds = ["flits-reordered", "flit-lost"]
    _, first = t3(tmp_path, kinds, 20, 882)
    _, again = t3(tmp_path, kinds, 20, 882)
    _, other = t3(tmp_path, kinds, 20, 883)
    assert first["kinds"] == again["kinds"] != other["kinds"]


@pytest.mark.verify
def test_an_endpoint_that_takes_corrupt_flits_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(rtl.link.flow, "LinkReceiver", bug_of("LinkReceiver").seeded())
    done, result = t3(tmp_path, ["flit-corrupted"], 40, 884)
    assert done.exit_code == 1
    (kind,) = result["kinds"]
    assert kind["outcomes"]["silent corruption"] > 10
    assert kind["failures"][0]["outcome"] == "silent corruption"
    assert f"flit-corrupted {kind['failures'][0]['fault']}: silent corruption: " in done.output


@pytest.mark.verify
def test_gpus(tmp_path):
    kinds = [kind for kind in KINDS if kind not in (*LINK_KINDS, *CONTEXT_KINDS)]
    found, page = assert_all_is_well(tmp_path, kinds, 200, 885)
    assert "channel_0.lane_0.data" in page.partition("Unprotected memories")[2]
    assert found["tracker-entry-single"]["outcomes"]["corrected"] > 0
    assert found["trigger-row-single"]["outcomes"]["corrected"] > 0
    assert found["tracker-entry-double"]["outcomes"]["reported"] > 0
    assert found["gpu-never-starts"]["outcomes"]["reported"] > 0
    assert set(found["table-full"]["codes"]) == {"SET_FULL"}


@pytest.mark.verify
def test_two_contexts(tmp_path):
    found, _ = assert_all_is_well(tmp_path, CONTEXT_KINDS, 240, 887)
    for kind in ("contexts-tracker-entry", "contexts-issue_ack", "contexts-ready-command"):
        assert found[f"{kind}-single"]["outcomes"]["corrected"] > 0
        assert found[f"{kind}-double"]["outcomes"]["reported"] > 0
    assert found["contexts-aborted"]["outcomes"] == {
        outcome.value: 20 * (outcome is Verdict.HARMLESS) for outcome in Verdict
    }
    assert found["contexts-kernel-stops"]["codes"].keys() == {"TIMEOUT"}


@pytest.mark.verify
def test_a_memory_whose_check_bits_correct_nothing_is_reported(tmp_path, monkeypatch):
    seeded = CORRECTS_NOTHING.seeded()
    for module in (rtl.tracker.table, rtl.lib.protected_memory, rtl.lib.protected_queue):
        monkeypatch.setattr(module, "SecdedCheck", seeded)
    done, result = t3(tmp_path, ["tracker-entry-single", "trigger-row-single"], 80, 886)
    assert done.exit_code == 1
    assert sum(one["outcomes"]["silent corruption"] for one in result["kinds"]) > 0
