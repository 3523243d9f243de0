import json

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli import prove as command
from verification.proofs import registry
from verification.seeded_bugs.table import bug_of

QUEUE_2 = next(proof for proof in registry.PROOFS if proof.name == "queue-2")


def invoke(*arguments):
    app = typer.Typer()
    app.command()(command.prove)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_unknown_proof(tmp_path):
    result = invoke("--proof", "nothing", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "proof: 'nothing' is not allowed; allowed: abort-channel, " in str(result.exception)
    assert not any(tmp_path.iterdir())


def test_one_proof(tmp_path):
    result = invoke("--proof", "queue-2", "--out", tmp_path)
    assert result.exit_code == 0 and "1 of 1 proofs hold" in result.output
    names = ["proofs-summary.md", "proofs.json", "proofs.md"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    assert "| `queue-2` | " in (tmp_path / "proofs.md").read_text()
    (record,) = json.loads((tmp_path / "proofs.json").read_text())["proofs"]
    assert record["proof"] == "queue-2" and record["status"] == "proved"
    assert record["blocks"] == ["Queue"] and record["mode"] == "k-induction"
    assert record["engine"] == "smtbmc yices" and record["depth"] == QUEUE_2.depth
    assert record["assertions"] >= 10 and record["covers"] >= 5 and record["seconds"] > 0


@pytest.mark.verify
def test_a_proof_that_fails(tmp_path, monkeypatch):
    failing = QUEUE_2.with_copy(bug_of("Queue").original, bug_of("Queue").seeded())
    monkeypatch.setattr(command, "PROOFS", (failing,))
    result = invoke("--out", tmp_path)
    assert result.exit_code == 1 and "0 of 1 proofs hold" in result.output
    assert f"waveform: {tmp_path / 'queue-2' / 'trace.vcd'}" in result.output
    assert "(verification/proofs/queue.py:" in result.output
    (record,) = json.loads((tmp_path / "proofs.json").read_text())["proofs"]
    assert record["status"] == "failed" and record["trace"].endswith("queue-2/trace.vcd")
