"""``t3 dram``: patterns and traces on any system's memory."""

import json

import pytest

from sysmodel.config.system import load_system
from t3.cli.main import main


def _figures(capsys, *arguments):
    assert main(["dram", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("config", ["asplos24", "h200", "mi300x", "b200"])
def test_a_sequential_stream_nearly_fills_the_channel(capsys, config):
    """The bandwidth reaches the share of the peak that ``dram.data_share`` allows."""
    dram = load_system(config).dram
    peak = dram.pseudo_channels * dram.atom_bytes / dram.burst_clocks * dram.clock_mhz / 1e3
    figures = _figures(capsys, "read", "--system", config, "--requests", "50000")
    assert figures["peak_gb_per_s"] == pytest.approx(peak)
    assert figures["bandwidth_gb_per_s"] == pytest.approx(dram.data_share * peak, rel=0.03)
    assert figures["requests"] == 50_000
    assert figures["row_hit_share"] > 0.9
    latency = figures["read_latency_ns"]
    assert latency["least"] <= latency["p50"] <= latency["p95"] <= latency["most"]


def test_table_names_the_memory(capsys):
    assert main(["dram", "mix", "--ratio", "2:1", "--system", "h200", "--requests", "3000"]) == 0
    out = capsys.readouterr().out
    for words in ("One HBM channel of h200: mix", "hbm3e, 1562.5 MHz", "share of the peak", "p99"):
        assert words in out


def test_a_trace_of_ones_own(capsys, tmp_path):
    trace = tmp_path / "mine.trace"
    lines = [f"{'R' if i % 3 else 'ST'} {32 * i:#x}" for i in range(300)]
    trace.write_text("# mine\n" + "\n".join(lines) + "\n0x20 LD # again\n")
    figures = _figures(capsys, "--trace", str(trace))
    assert figures["requests"] == 301
    assert figures["activates"] >= 1


@pytest.mark.parametrize("queue", ["64", "128", "64+64", "1"])
@pytest.mark.parametrize("refresh", ["none", "all-bank", "per-bank"])
def test_queues_and_refresh_of_a_pair_of_pseudo_channels(capsys, queue, refresh):
    options = ("--queue", queue, "--refresh", refresh, "--system", "h200", "--requests", "5000")
    assert 0 < _figures(capsys, "mix", *options)["share_of_peak"] <= 1


def test_an_address_map_of_ones_own(capsys):
    """With the bank group above the columns, a stream stays in one group.

    A short queue then holds no request of another group.
    """
    options = ("--system", "h200", "--refresh", "none", "--requests", "20000", "--queue", "16")
    fast = _figures(capsys, "read", *options)
    one_group = "pseudo:1 column:5 bank:2 group:2 stack:1"
    slow = _figures(capsys, "read", *options, "--map", one_group)
    assert slow["share_of_peak"] < 0.6 * fast["share_of_peak"]


@pytest.mark.parametrize(
    "arguments,message",
    [
        ([], "pattern: give one of read, write, update, mix, random-read, random-write, or a tr"),
        (["all"], "pattern: 'all' is not allowed; allowed: read, "),
        (["read", "--requests", "0"], "--requests: 0 is not allowed; allowed: an integer from 1"),
        (["mix", "--ratio", "2"], "--ratio: '2' is not allowed; allowed: a ratio such as 2:1"),
        (["mix", "--offset", "33"], "--offset: offset_bytes must be a multiple of 32"),
        (
            ["read", "--queue", "many"],
            "--queue: 'many' is not allowed; allowed: a depth such as 64 or 64+",
        ),
        (["read", "--queue", "600"], "--queue: queue_depth must be at most 512"),
        (["read", "--refresh", "all-bank"], "--refresh: all-bank needs dram.timing: tRFC must"),
        (["read", "--map", "pseudo:1 column:6"], "--map: 'pseudo:1 column:6' is not allowed"),
        (
            ["read", "--map", "column:6"],
            "--map: 'column:6' has 0 bits for the group, which needs 2",
        ),
        (["--trace", "nowhere"], "--trace: 'nowhere' cannot be read: No such file"),
    ],
)
def test_bad_input(capsys, arguments, message):
    assert main(["dram", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize("line", ["Q 3", "R", "R 0x", "R 1 2", "R -32", "R W 3", f"R {1 << 48}"])
def test_a_wrong_line_is_named(capsys, tmp_path, line):
    trace = tmp_path / "bad.trace"
    trace.write_text(f"R 0\n{line}\n")
    assert main(["dram", "--trace", str(trace)]) == 2
    assert "bad.trace, line 2: " in capsys.readouterr().err


def test_an_empty_trace(capsys, tmp_path):
    (tmp_path / "empty").write_text("# nothing\n")
    assert main(["dram", "--trace", str(tmp_path / "empty")]) == 2
    assert "has no access" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["0", "1", "40"])
def test_a_narrow_terminal_cuts_no_figure(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["dram", "read", "--requests", "1000"]) == 0
    shown = capsys.readouterr().out
    assert "1,000 in" in shown
    assert "read latency, most" in shown


def test_the_name_of_a_trace_is_no_markup(capsys, tmp_path):
    (tmp_path / "a[").mkdir()
    trace = tmp_path / "a[" / "b].txt"
    trace.write_text("R 0\n")
    assert main(["dram", "--trace", str(trace)]) == 0
    assert "a[/b].txt" in "".join(capsys.readouterr().out.split())
