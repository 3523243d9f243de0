"""Bad input of every kind: one line that names it, exit code 2, and nothing written."""

import pytest

_GRID = """
title = "a test"

[[grid]]
workload = {{ model = "t-nlg", layer = "fc2", tp = 8 }}
{}
"""
_MODEL = """
hidden = 6144
layers = 60
heads = 48
sequence = 4096
batch = 1
source = "a test"
confidence = "made up"
tensor_parallel = [8]
"""

_FILES = {
    "empty.toml": "",
    "syntax.toml": "[link\nlatency_ns = 1",
    "base.toml": 'base = "h300"',
    "circle.toml": 'base = "circle.toml"',
    "key.toml": 'base = "h200"\n[link]\nbandwidth = 75',
    "text.toml": 'base = "h200"\n[link]\nbandwidth_gb_per_s = "fast"',
    "nan.toml": 'base = "h200"\n[link]\nbandwidth_gb_per_s = nan',
    "negative.toml": 'base = "h200"\n[link]\nlatency_ns = -1',
    "zero.toml": 'base = "h200"\n[gpu]\ncompute_units = 0',
    "sets.toml": 'base = "asplos24"\n[t3]\ntracker_sets = 100',
    "banks.toml": 'base = "asplos24"\n[l2]\ncapacity_mib = -4',
    "standard.toml": 'base = "h200"\n[dram]\nstandard = "hbm9"',
    "clock.toml": 'base = "h200"\n[dram]\nclock_mhz = 1e9',
    "bytes.toml": b"\xff\xfe\x00",
    "heads.toml": _MODEL.replace("heads = 48", "heads = 7"),
    "typo.toml": _MODEL + "expert = 4",
    "sublayer.toml": _MODEL + 'sublayers = ["fc3"]',
    "sourceless.toml": _MODEL.replace('source = "a test"', ""),
    "axis.toml": _GRID.format("system = { base = 'asplos24', \"link.bandwidth_gb_per_s\" = [] }"),
    "point.toml": _GRID.format("system = { base = 'asplos24', \"link.latency_ns\" = [1, -1] }"),
    "engine.toml": _GRID.format("run = { engine = 'fast' }"),
    "grid.toml": "title = 'no grid'",
}
_RUN = ["run", "--engine", "golden", "--out", "out"]
_CASES = [
    # Options.
    ([*_RUN, "--tp", "x"], "--tp"),
    ([*_RUN, "--tp", "1"], "--tp"),
    ([*_RUN, "--tp", "-8"], "--tp"),
    ([*_RUN, "--tp", "9" * 30], "--tp"),
    ([*_RUN, "--tp", ""], "--tp"),
    ([*_RUN, "--m", "8192"], "--m"),
    ([*_RUN, "--m", "0", "--n", "128", "--k", "64"], "--m"),
    ([*_RUN, "--m", "8", "--n", "8", "--k", "8", "--model", "t-nlg"], "--model"),
    ([*_RUN, "--model", "gpt-9"], "--model"),
    ([*_RUN, "--layer", "fc9"], "--layer"),
    ([*_RUN, "--system", "h300"], "h300"),
    ([*_RUN, "--system", "missing.toml"], "missing.toml"),
    ([*_RUN, "--system", "."], "--system: '.'"),
    ([*_RUN, "--system", "./"], "--system: './' is a folder"),
    ([*_RUN, "--model", "./"], "--model: './' is a folder"),
    ([*_RUN, "--channels", "0"], "--channels"),
    ([*_RUN, "--channels", "33"], "--channels"),
    ([*_RUN, "--channels", "some"], "--channels"),
    ([*_RUN, "--gpus", "two"], "--gpus"),
    ([*_RUN, "--engine", "verilog"], "--engine"),
    ([*_RUN, "--configurations", "t3,t3"], "--configurations"),
    ([*_RUN, "--configurations", ""], "--configurations"),
    ([*_RUN, "--configurations", "t4"], "--configurations"),
    ([*_RUN, "--repeat", "0"], "--repeat"),
    ([*_RUN, "--seed", "-1"], "--seed"),
    ([*_RUN, "--waves", "1:2"], "--waves"),
    ([*_RUN, "--tokens", "0"], "--tokens"),
    ([*_RUN, "--frequency", "3"], "--frequency"),
    ([*_RUN, "out", "more"], "more"),
    (["run", "--engine", "golden", "--out", "empty.toml"], "--out"),
    (["run", "--engine", "golden", "--out", "/proc/t3"], "--out"),
    # Systems as files.
    *(
        ([*_RUN, "--system", f"{name}.toml"], what)
        for name, what in {
            "syntax": "syntax.toml",
            "base": "base",
            "circle": "circle.toml",
            "key": "link.bandwidth",
            "text": "link.bandwidth_gb_per_s",
            "nan": "link.bandwidth_gb_per_s",
            "negative": "link.latency_ns",
            "zero": "gpu.compute_units",
            "sets": "t3.tracker_sets",
            "banks": "l2.capacity_mib",
            "standard": "dram.standard",
            "clock": "dram.clock_mhz",
            "bytes": "bytes.toml",
        }.items()
    ),
    # Models as files.
    *(
        ([*_RUN, "--model", f"{name}.toml", "--layer", "fc2"], what)
        for name, what in {
            "empty": "empty.toml",
            "syntax": "syntax.toml",
            "bytes": "bytes.toml",
            "heads": "heads",
            "typo": "expert",
            "sublayer": "sublayers",
            "sourceless": "source",
        }.items()
    ),
    # Grids.
    *(
        (["sweep", f"{name}.toml", "--engine", "golden", "--out", "out"], what)
        for name, what in {
            "missing": "missing.toml",
            "empty": "empty.toml",
            "grid": "grid",
            "axis": "link.bandwidth_gb_per_s",
            "point": "link.latency_ns",
            "engine": "engine",
        }.items()
    ),
    # Other commands.
    (["check", "--gpus", "9"], "--gpus"),
    (
        ["sweep", "point.toml", "--workers", "x"],
        "--workers: 'x' is not allowed; allowed: an integer",
    ),
    (["exhaust", "--pairs", "0"], "--pairs: '0' is not allowed; allowed: 1 or more"),
    (["mutate", "--seed", "-1"], "--seed: '-1' is not allowed; allowed: 0 or more"),
    (["timing", "--paths", "x"], "--paths: 'x' is not allowed; allowed: 1 or more"),
    (["area", "--channels", "1.5"], "--channels: '1.5' is not allowed; allowed: an integer"),
    (["export", "--channels", "x"], "--channels: 'x' is not allowed; allowed: an integer"),
    (["check", "--channels", "3"], "--channels"),
    (["check", "--back-pressure", "100"], "--back-pressure"),
    (["dram", "mix", "--ratio", "2"], "--ratio"),
    (["compare", "out", "other"], "out"),
    (["config", "show", "h300"], "h300"),
    (["model", "gpt-9", "--out", "out"], "gpt-9"),
    (["export", "--system", "h300", "--out", "out"], "h300"),
    (["export", "--banks", "3", "--out", "out"], "--banks"),
    (["prove", "--proof", "none", "--out", "out"], "--proof"),
    (["mutate", "--block", "none", "--out", "out"], "--block"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in _FILES.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("arguments", "what"), _CASES, ids=lambda value: str(value)[-40:])
def test_one_line_names_it_and_nothing_is_written(fails, folder, arguments, what):
    assert what in fails(arguments)
    assert {path.name for path in folder.iterdir()} == set(_FILES)
