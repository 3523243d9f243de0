"""``t3 sweep``: output, exit codes, and resuming an interrupted sweep."""

import os
import signal
import time

import pytest

from t3.cli.main import main
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import CSV, PAGE, PARQUET, RECORD, sweep
from t3.experiments.sweep.run import POINTS as CHECKPOINT
from tests.support.small_grid import CONFIGURATIONS, POINTS, grid_text, started_sweep

pytestmark = pytest.mark.verify


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(grid_text())
    return path


def _wait_for_points(out, count):
    """Wait until the checkpoint holds so many points."""
    file = out / CHECKPOINT
    while not file.exists() or file.read_bytes().count(b"\n") < count:
        time.sleep(0.01)


def test_bad_input_is_one_line(path, tmp_path, capsys):
    path.write_text(grid_text().replace("9.375", "-1"))
    assert main(["sweep", str(path), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {path}: grid.0.system.link.bandwidth_gb_per_s: -1 is")
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_in_place_of_the_page_is_refused_before_the_simulation(path, tmp_path, capsys):
    (tmp_path / "out" / PAGE).mkdir(parents=True)
    assert main(["sweep", str(path), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert (
        printed.err == f"error: --out: {str(tmp_path / 'out' / PAGE)!r} is a folder, not a file\n"
    )
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == [PAGE]


def test_output(path, tmp_path):
    out = tmp_path / "out"
    with started_sweep(path, "--out", out, "--workers", "2") as process:
        printed, shown = process.communicate()
    assert process.returncode == 0
    rows = POINTS * len(CONFIGURATIONS)
    files = (CSV, PARQUET, RECORD, PAGE)
    assert printed == f"{POINTS} points, {rows} rows in {out}: {', '.join(files)}\n"
    assert all((out / name).stat().st_size for name in files)
    begin, *lines = shown.splitlines()
    assert begin == f"{POINTS} points"
    assert all("/8 points" in line for line in lines)


def test_a_failed_point_ends_with_code_1(path, tmp_path):
    # One channel does not hold an atom of every wavefront's tile.
    grid = grid_text("m = 640, n = 200, k = 64, tp = 8")
    path.write_text(grid.replace('engine = "golden"', 'engine = "golden"\n        channels = 1'))
    with started_sweep(path, "--out", tmp_path / "out", "--workers", "1") as process:
        printed, shown = process.communicate()
    assert process.returncode == 1
    assert printed == ""
    first, second, last = shown.splitlines()[-3:]
    assert first.startswith("failed: custom gemm, TP 8 (640 x 200 x 64) on asplos24, ")
    assert second.startswith("failed: ")
    assert last == "error: 2 of 2 points failed"


def test_interrupted(path, tmp_path):
    path.write_text(grid_text("m = [4096, 8192], n = 1536, k = [1024, 2048], tp = 4"))
    out = tmp_path / "out"
    with started_sweep(path, "--out", out, "--workers", "2") as process:
        _wait_for_points(out, 2)
        os.killpg(process.pid, signal.SIGINT)
        printed, shown = process.communicate()
    assert process.returncode == 130
    assert printed == ""
    begin, *lines, saved, last = shown.splitlines()
    assert begin == f"{POINTS} points"
    assert last == "t3: interrupted"
    assert saved.endswith(
        f"of {POINTS} points are stored in {out}; the same command continues from there"
    )
    assert all("/8 points" in line for line in lines)
    assert int(saved.split()[0]) >= 1


def test_killed_and_resumed(path, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where it leaves the workers' folders
    out, grid = tmp_path / "out", load_grid(path)
    with started_sweep(path, "--out", out, "--workers", "2") as process:
        _wait_for_points(out, 3)
        process.kill()
    saved = (out / CHECKPOINT).read_bytes()
    whole = saved[: saved.rfind(b"\n") + 1]
    seen = []
    sweep(grid, out, workers=1, report=seen.append)
    assert 3 <= seen[0].found == whole.count(b"\n") < POINTS
    resumed = (out / CHECKPOINT).read_bytes()
    assert resumed.startswith(whole)
    assert resumed.count(b"\n") == POINTS
    sweep(grid, tmp_path / "whole", workers=1)
    assert (out / CSV).read_bytes() == (tmp_path / "whole" / CSV).read_bytes()
