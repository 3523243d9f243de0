import json

import pytest
import typer
from typer.testing import CliRunner

from sysmodel.lib.errors import InputError
from t3.cli import coverage as command


def invoke(*arguments):
    app = typer.Typer()
    app.command()(command.coverage)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_unknown_block(tmp_path):
    result = invoke("--block", "nothing", "--out", tmp_path / "out")
    assert isinstance(result.exception, InputError)
    assert "block: 'nothing' is not allowed; allowed: address_map, arbiter" in str(result.exception)
    assert not any(tmp_path.iterdir())


@pytest.mark.verify
def test_a_small_block(tmp_path):
    result = invoke("--block", "queue", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["coverage.json", "coverage.md"]
    (block,) = json.loads((tmp_path / "coverage.json").read_text())["blocks"]
    assert block["functional"] == {"hit": 7, "points": 7}
    for kind in ("line", "toggle"):
        assert 0.8 * block[kind]["points"] < block[kind]["hit"] <= block[kind]["points"]
