"""``t3.sweep``: from a plain script, from files, and with mistakes."""

import subprocess
import sys

import pandas as pd
import pytest

import t3

BLOCK = {
    "workload": {"m": 1024, "n": 768, "k": [64, 128], "tp": 4},
    "run": {"engine": "golden", "configurations": ["sequential", "t3"]},
}
# The script has no guard around its calls, as usual for scripts.
SCRIPT = f"""
import t3

print("begins")
table = t3.sweep({BLOCK!r}, "kept", workers=2)
print(len(table), sorted(table["configuration"].unique()))
"""


def test_a_plain_script_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "begins\n4 ['sequential', 't3']\n"
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "points.jsonl",
        "report.html",
        "sweep.json",
        "table.csv",
        "table.parquet",
    ]
    # The next call finds the stored results; and a grid can have several blocks.
    grid = {"title": "again", "grid": [BLOCK, BLOCK]}
    again = t3.sweep(grid, tmp_path / "kept", workers=1)
    pd.testing.assert_frame_equal(again, pd.read_csv(tmp_path / "kept" / "table.csv"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workload": {"model": "gpt-9"}}, "sweep: grid.0.workload.model: 'gpt-9' is not known"),
        ({"system": {"link.bandwidth": 5}}, "link.bandwidth: unknown key; did you mean"),
        ({"run": {"engine": "c"}}, "grid.0.run.engine.0: 'c' is not allowed"),
        ({"sistem": {}}, "grid.0.sistem: unknown key; did you mean system?"),
    ],
)
def test_bad_input_simulates_nothing(tmp_path, change, said):
    with pytest.raises(t3.InputError, match=said):
        t3.sweep(BLOCK | change, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_list_is_no_grid(tmp_path):
    with pytest.raises(t3.InputError, match="grid: .* allowed: a mapping, or the path of a TOML"):
        t3.sweep([BLOCK], tmp_path / "out")
