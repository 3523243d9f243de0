"""Completion of values in the shell, which imports no simulation."""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import atexit, sys
def check():
    slow = {'numba', 'numpy', 'pandas', 'amaranth', 'matplotlib', 'plotly'} & set(sys.modules)
    print('slow:', *slow, file=sys.stderr)
atexit.register(check)
sys.argv = ["t3"]
from t3.cli.main import main
main([])
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run --system h", ["h100", "h200", "h800"]),
        ("run --model mega", ["mega-gpt-2"]),
        ("run --layer fc", ["fc1", "fc2"]),
        ("run --engine r", ["rtl"]),
        ("run --dtype b", ["bf16"]),
        ("run --gpus m", ["mirror"]),
        ("run --configurations t3,seq", ["t3,sequential"]),
        ("check --granularity wo", ["workgroup"]),
        ("model qwen", ["qwen2.5-72b"]),
        ("model t-nlg --system b", ["b200"]),
        ("sweep grid.toml --engine g", ["golden"]),
        ("dram mi", ["mix"]),
        ("dram --refresh p", ["per-stack", "per-bank"]),
        ("config show mi", ["mi210", "mi300x"]),
        ("config diff h100 h2", ["h200"]),
        ("presets b", ["b200"]),
        ("models pa", ["palm"]),
        ("topology show to", ["torus-2d", "torus-3d"]),
        ("program show s", ["sublayer"]),
        ("run --program p", ["pair"]),
        ("export --system mi3", ["mi300x"]),
        ("collective show h", ["halving-doubling", "hierarchical"]),
        ("collective check --operation all-t", ["all-to-all"]),
    ],
)
def test_values(words, expected):
    line = f"t3 {words}"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ
        | {
            "_T3_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == expected
    assert done.stderr == "slow:\n"
