"""``t3 validate --measured`` and ``t3 calibrate``."""

import pytest

from sysmodel.config.system import load_system
from t3.cli.main import main
from t3.experiments.measured import calibration, comparison

TABLE = """\
kind,gpus,bytes,time_us
reduce_scatter,4,1048576,15
reduce_scatter,4,4194304,40
reduce_scatter,4,4096,9
reduce_scatter,4,8388608,71
all_gather,4,64,9
"""


def closed_form(system, row, report=None):
    steps, rate = row.gpus - 1, system.link.stores_gb_per_s
    return 3 + steps * (row.message_bytes / row.gpus / rate + system.link.latency_ns) / 1e3


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Make a file of measurements, which a closed form simulates."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(calibration, "modelled", closed_form)
    monkeypatch.setattr(comparison, "modelled", closed_form)
    (tmp_path / "rows.csv").write_text(TABLE)
    return "rows.csv"


def test_a_system_beside_measurements(table, tmp_path, capsys):
    assert main(["validate", "--measured", table, "--system", "asplos24"]) == 0
    shown = capsys.readouterr().out
    page = (tmp_path / "build" / "validation" / "measured.md").read_text(encoding="utf-8")
    for word in ("reduce-scatter", "1,048,576 bytes on 4 GPUs", "rows.csv, line 2", "512 bytes"):
        assert word in page
    assert "asplos24: error by kind" in shown and "measured.md" in shown
    assert [path.name for path in (tmp_path / "build" / "validation").iterdir()] == ["measured.md"]


def test_a_fitted_system_is_printed_or_written(table, tmp_path, capsys):
    assert main(["calibrate", table, "--base", "asplos24"]) == 0
    printed = capsys.readouterr().out
    assert main(["calibrate", table, "--base", "asplos24", "--out", "mine.toml"]) == 0
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == printed
    shown = capsys.readouterr().out.splitlines()
    assert any(line.startswith("link.stores_payload_share: 1 -> ") for line in shown)
    assert any(line.startswith("not fitted: gpu.clock_mhz: no row of gemm") for line in shown)
    assert any(line.startswith("rows held back: off by ") for line in shown)
    assert shown[-1] == "mine.toml"
    assert load_system("mine.toml").link.stores_payload_share < 1


@pytest.mark.parametrize("out", ["first.toml", "second.toml", "folder/../first.toml", "link.toml"])
def test_the_fitted_file_does_not_replace_a_file_of_its_base(table, tmp_path, fails, out):
    (tmp_path / "folder").mkdir()
    (tmp_path / "first.toml").write_text('base = "asplos24"\n')
    (tmp_path / "second.toml").write_text('base = "first.toml"\n')
    (tmp_path / "link.toml").symlink_to("first.toml")
    message = fails(["calibrate", table, "--base", "second.toml", "--out", out])
    assert f"--out: '{out}' is a file of the base; allowed: another file" in message
    assert (tmp_path / "first.toml").read_text() == 'base = "asplos24"\n'
    assert (tmp_path / "second.toml").read_text() == 'base = "first.toml"\n'


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["validate", "--measured", "rows.csv"], "--system: missing"),
        (["validate", "--system", "h200"], "--system: needs measurements"),
        (["validate", "--measured", "none.csv", "--system", "h200"], "none.csv: cannot be read"),
        (["validate", "--measured", "rows.csv", "--system", "h300"], "--system: 'h300' is not"),
        (["validate", "--measured", "bad.csv", "--system", "h200"], "bad.csv, line 2: kind 'x'"),
        (["calibrate", "rows.csv", "--base", "h300"], "--base: 'h300' is not known"),
        (["calibrate", "bad.csv", "--base", "h200"], "bad.csv, line 2: kind 'x'"),
        (["calibrate", "rows.csv", "--base", "h200", "--out", "mine"], "--out: 'mine' is not"),
        (["calibrate", "rows.csv"], "--base"),
        (["calibrate", "--base", "h200"], "FILE"),
        (["calibrate", "read.csv", "--base", "h200"], "measured: the rows decide no parameter"),
    ],
)
def test_errors_have_one_line_and_exit_code_two(table, tmp_path, fails, arguments, message):
    (tmp_path / "bad.csv").write_text("kind,time_us\nx,3\n")
    (tmp_path / "read.csv").write_text("kind,gb_per_s\nread,3000\n")
    assert message in fails(arguments)
    assert not (tmp_path / "build").exists()


def test_the_listing_of_presets_has_their_measured_errors(capsys):
    assert main(["presets"]) == 0
    assert capsys.readouterr().out.count("Measured error") == 4
