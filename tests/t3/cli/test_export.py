import json
import subprocess
import sys
from dataclasses import asdict, fields

import pytest

from rtl.link.parameters import LinkParameters
from rtl.parameters import T3Parameters
from t3.cli import main as cli
from tests.support.exports import EXAMPLE, LINK, TWO_CONTEXTS, exported


def t3(*arguments):
    return cli.main(["export", *map(str, arguments)])


def options_of(p):
    given = []
    for name, value in asdict(p).items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            given.append(f"--{option}" if value else f"--no-{option}")
        else:
            given += [f"--{option}", value]
    return given


@pytest.mark.parametrize(
    ("p", "name", "link"),
    [
        pytest.param(EXAMPLE, "t3", None, id="example"),
        pytest.param(TWO_CONTEXTS, "gpu", LINK, id="links", marks=pytest.mark.verify),
    ],
)
def test_writes_what_the_manifest_says(p, name, link, tmp_path, capsys, monkeypatch):
    """The files are those of the manifest; all tests share one export of this hardware."""
    monkeypatch.setattr(
        "rtl.export.files.export_files",
        lambda p, name, _, *, link, reset, software: exported(p, name, link, reset=reset),
    )
    folder = tmp_path / "a" / "b"
    links = ["--with-links"] if link else []
    assert t3("--out", folder, "--name", name, *options_of(p), *links) == 0
    manifest = json.loads((folder / "manifest.json").read_text())
    assert T3Parameters(**manifest["parameters"]) == p
    (top,) = (entry for entry in manifest["files"] if entry["file"] == f"{name}.v")
    ports = {port["name"] for port in top["ports"]}
    assert ("link__0__downstream__send__payload" in ports) == (link is not None)
    if link is not None:
        assert LinkParameters(**manifest["link"]) == link
    written = {path.name for path in folder.iterdir()}
    assert written == {"manifest.json", *(entry["file"] for entry in manifest["files"])}
    assert {f"{name}.v", f"{name}_link_endpoint.v"} <= written
    assert {f"{name}.core", f"{name}_registers.vh"} <= written
    assert f"{len(written)} files in {folder}" in capsys.readouterr().out


def test_a_name_and_links_are_those_of_the_export(tmp_path, monkeypatch):
    def export(p, name, _, *, link, **options):
        asked.append((p, name, link))
        return {"gpu.v": "module gpu; endmodule\n"}

    asked = []
    monkeypatch.setattr("rtl.export.files.export_files", export)
    links = ["--name", "gpu", *options_of(TWO_CONTEXTS), "--with-links"]
    assert t3("--out", tmp_path, *links) == 0
    assert asked == [(TWO_CONTEXTS, "gpu", LINK)]
    assert [path.name for path in tmp_path.iterdir()] == ["gpu.v"]


def test_an_option_for_every_parameter(capsys):
    assert t3("--help") == 0
    shown = capsys.readouterr().out
    for field in fields(T3Parameters):
        assert f"--{field.name.replace('_', '-')}" in shown
    assert "--with-links" in shown
    assert "--reset" in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--banks", "3"], "--banks: must be a power of two, not 3"),
        (["--channels", "40"], "hardware of asplos24: first_channel + channels must be at most"),
        (["--system", "h900"], "--system: 'h900' is not known; allowed: a100, "),
        (["--channels", "x"], "--channels: "),
        (["--reset", "late"], "--reset: 'late' is not allowed; allowed: synchronous, asynchronous"),
        (["--name", "3x"], "--name: must be a Verilog identifier"),
    ],
)
def test_bad_input(arguments, problem, tmp_path, capsys):
    """The message is one line, and no folder is made."""
    assert t3("--out", tmp_path / "new", *arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {problem}")
    assert shown.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_size_that_exceeds_its_register(tmp_path):
    """A size that only the hardware's construction refuses gives one line, too."""
    script = (
        "import sys; from t3.cli.main import main; from t3.report import progress;"
        "progress._FIRST_LINE_S = 600.0; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["export", "--out", tmp_path / "new", "--regions", "257"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: --regions: must be at most 256 to fit REGION_COMMIT")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.verify  # an export of two channels
def test_prints_no_warning_of_amaranth(tmp_path):
    """Amaranth would warn that one of two equal channels is not elaborated."""
    small = {"contexts": 1, "sets": 16, "ways": 1, "banks": 1, "regions": 1, "ranges": 1}
    options = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "t3", "export", "--channels", "2", "--no-with-data", *options]
    done = subprocess.run([*command, "--out", tmp_path], capture_output=True, text=True, check=True)
    assert "Unused" not in done.stdout + done.stderr
