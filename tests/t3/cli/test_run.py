"""``t3 run``: requested simulations, output, files, and one line for every bad input."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from t3.cli.main import main
from tests.support.example_run import example_result

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"
_FILES = ["configurations.png", "report.html", "result.json", "roofline.png", "timeline.json"]


def test_run(simulated, capsys, tmp_path):
    assert main(["run", "--out", str(tmp_path / "new" / "out")]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\x1b" not in printed.out
    assert "…" not in printed.out
    for word in ("T-NLG fc2, TP 8", "sequential", "ideal-rs-nmc", "1.170x", "130.7", "85.1%"):
        assert word in printed.out
    for name in _FILES:
        assert str(tmp_path / "new" / "out" / name) in printed.out.replace("\n", "")
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == _FILES
    workload, system, options = simulated[0]
    assert (workload.model, workload.layer, workload.tp) == ("T-NLG", "fc2", 8)
    assert (options.engine, options.channels, options.gpus) == ("rtl", "auto", "mirror")
    assert system.name == "asplos24"


def test_run_prints_json_and_nothing_else(simulated, capsys, tmp_path):
    assert main(["run", "--json", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out == (tmp_path / "result.json").read_text()
    assert json.loads(printed.out)["configurations"]["t3"]["dram_bytes"]["rs_read"] == (
        6 * 8192 * 4256 * 2 // 8
    )


def test_options_of_run(simulated, capsys, tmp_path):
    config = tmp_path / "slow.toml"
    config.write_text('base = "asplos24"\n[link]\nbandwidth_gb_per_s = 75\n')
    arguments = ["run", "--model", "Mega-GPT-2", "--layer", "FC-1", "--tp", "16"]
    arguments += ["--engine", "rtl", "--channels", "all", "--gpus", "all"]
    arguments += ["--system", str(config), "--configurations", "sequential, t3-mca"]
    arguments += ["--repeat", "5", "--seed", "7"]
    arguments += ["--waves", "10:20", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    workload, system, options = simulated[0]
    assert (workload.m, workload.n, workload.k) == (16384, 3072, 768)
    assert (system.name, system.link.bandwidth_gb_per_s) == ("slow", 75)
    assert (options.channels, options.gpus, options.waves) == ("all", "all", (10, 20))
    assert (options.repeat, options.seed) == (5, 7)
    assert options.configurations == ("sequential", "t3-mca")
    assert options.waves_file.parent.parent == tmp_path / "out"
    assert "ideal" not in capsys.readouterr().out


def test_a_gemm_of_any_size(simulated, tmp_path):
    arguments = ["--m", "2048", "--n", "1024", "--k", "96", "--tp", "4"]
    assert main(["run", *arguments, "--out", str(tmp_path)]) == 0
    workload = simulated[0][0]
    assert (workload.m, workload.n, workload.k, workload.tp) == (2048, 1024, 96, 4)


@pytest.mark.parametrize(
    "name, layer, shape",
    [
        ("my-transformer", "fc2", (1024, 6144, 2048)),
        ("my-gemms", "down-projection", (4096, 5120, 3456)),
    ],
)
def test_a_model_of_one_s_own(simulated, tmp_path, name, layer, shape):
    file, tp = EXAMPLES / f"{name}.toml", "4" if name == "my-gemms" else "8"
    arguments = ["--model", str(file), "--layer", layer, "--tp", tp]
    assert main(["run", *arguments, "--out", str(tmp_path)]) == 0
    workload = simulated[0][0]
    assert (workload.m, workload.n, workload.k) == shape


_BAD_RUNS = [
    (["--tp", "5"], "--tp: 5 does not divide the 17024 products of T-NLG's fc2; allowed: 2, 4, "),
    (["--tp", "0"], "--tp: 0 does not divide"),
    (["--tp", "-8"], "--tp: -8 does not divide"),
    (["--tp", "1e3"], "--tp: '1e3' is not allowed; allowed: an integer"),
    (["--tp", "eight"], "--tp: 'eight' is not allowed; allowed: an integer"),
    (["--tp", "8.0"], "--tp: '8.0' is not allowed; allowed: an integer"),
    (["--tp", "9" * 5000], "--tp: '9999999999999999...' is not allowed; allowed: an integer"),
    (["--tp", ""], "--tp: '' is not allowed; allowed: an integer"),
    (["--tp"], "Option '--tp' requires an argument."),
    (["--model", "bert"], "--model: 'bert' is not known; allowed: 10t, 1t, deepseek-v3, "),
    (["--model", "bert.toml"], "--model: 'bert.toml': no such file"),
    (["--m", "64"], "--m: needs n, k; m, n and k must be given together"),
    (["--n", "64", "--k", "8"], "--n: needs m; m, n and k must be given together"),
    (["--m", "64", "--n", "64", "--k", "0"], "--k: 0 is not allowed; allowed: an integer from 1"),
    (
        ["--m", "64", "--n", "64", "--k", "8", "--layer", "fc2"],
        "--layer: not allowed together with m; allowed: a model, or m, n, k",
    ),
    (["--layer", "fc9"], "--layer: 'fc9' is not known; allowed: op, fc1, fc2, ip"),
    (["--engine", "c"], "--engine: 'c' is not allowed; allowed: rtl, golden"),
    (["--channels", "0"], "--channels: 0 is not allowed; allowed: 1 or more, auto, or all"),
    (
        ["--channels", "some"],
        "--channels: 'some' is not allowed; allowed: an integer, auto, or all",
    ),
    (["--channels", "64"], "--channels: 64 is not allowed; allowed: 1 to 32"),
    (["--repeat", "0"], "--repeat: 0 is not allowed; allowed: an integer from 1 to 1000"),
    (["--repeat", "x"], "--repeat: 'x' is not allowed; allowed: an integer"),
    (["--seed", "-1"], "--seed: -1 is not allowed; allowed: an integer from 0 to 4294967295"),
    (["--gpus", "3"], "--gpus: '3' is not allowed; allowed: mirror, all"),
    (["--configurations", "t3,t4"], "--configurations: 't4' is not allowed; allowed: sequential,"),
    (["--configurations", ""], "--configurations: '' is not allowed; allowed: sequential,"),
    (["--configurations", "t3,t3"], "--configurations: each may be named once"),
    (["--waves", "7"], "--waves: '7' is not allowed; allowed: A:B, two memory cycles"),
    (["--waves", "a:b"], "--waves: 'a:b' is not allowed; allowed: A:B, two memory cycles"),
    (["--waves", "9:3"], "--waves: 9:3 is not allowed; allowed: A:B with 0 <= A < B"),
    (["--waves", "1:3", "--engine", "golden"], "--waves: a waveform needs the engine rtl"),
    (["--system", "missing.toml"], "--system: 'missing.toml': no such file"),
    (["--system", "/"], "--system: '/' is a folder; allowed: a file"),
    (["--nonsense"], "No such option: --nonsense"),
    (["nonsense"], "Got unexpected extra argument"),
]


@pytest.mark.parametrize("arguments, message", _BAD_RUNS)
def test_bad_input_to_run(simulated, fails, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert fails(["run", *arguments]).startswith(message)
    assert simulated == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text, message",
    [
        ("[gpu\n", "is not TOML: "),
        ("x = 3\n", 'base: missing; add base = "asplos24"'),
        ('base = "asplos24"\n[gpu]\nclock_ghz = 1.4\n', "gpu.clock_ghz: unknown key; "),
        ('base = "asplos24"\n[gpu]\nclock_mhz = "1.4 GHz"\n', "gpu.clock_mhz: '1.4 GHz' is not "),
        ('base = "asplos24"\n[gpu]\nclock_mhz = 1.4\n', "gpu.clock_mhz: 1.4 is not allowed; "),
        ('base = "asplos24"\n[kernel]\ntile_m = 1000000000000\n', "kernel.tile_m: 1000000000000 "),
    ],
)
def test_bad_files(simulated, fails, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "bad.toml"
    config.write_text(text)
    assert fails(["run", "--system", "bad.toml"]).startswith(f"bad.toml: {message}")
    assert simulated == []
    assert list(tmp_path.iterdir()) == [config]


def test_a_folder_that_cannot_be_written_is_found_first(simulated, fails, tmp_path):
    (tmp_path / "file").write_text("")
    message = fails(["run", "--out", str(tmp_path / "file" / "x")])
    assert message.startswith(f"--out: '{tmp_path}/file/x' cannot be written: ")
    assert simulated == []


def test_repetitions_are_shown(monkeypatch, capsys, tmp_path):
    def simulate(plan, progress):
        first = example_result(plan.workload, plan.options)
        late = {name: _later(one) for name, one in first.configurations.items()}
        return replace(first, varied=(late,))

    def _later(one):
        return replace(one, total_ns=1.1 * one.total_ns)

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", simulate)
    assert main(["run", "--repeat", "2", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "2 repetitions" in printed
    assert "…" not in printed
    table = printed.partition("GEMM alone:")[0]
    assert max(len(line) for line in table.splitlines() if "slower than" not in line) <= 80
    known = json.loads((tmp_path / "result.json").read_text())
    for one in known["repetitions"]:
        first = known["configurations"][one["configuration"]]["total_ns"]
        total = one["total_ns"]
        assert (total["least"], total["most"]) == pytest.approx((first, 1.1 * first))
        assert total["mean"] == pytest.approx(1.05 * first)


def test_no_number_is_cut_beside_a_long_name(monkeypatch, capsys, tmp_path):
    def simulate(plan, progress):
        result = example_result(plan.workload, plan.options)
        t3 = result.configurations["t3"]
        slow = replace(t3, ns=t3.ns | {"gemm": 23456e3}, total_ns=98765e3)
        known = {**result.configurations, "t3-compute-first": slow}
        return replace(result, configurations=known)

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", simulate)
    assert main(["run", "--out", str(tmp_path)]) == 0
    times = capsys.readouterr().out.partition("What bounds it")[0].splitlines()
    line = next(line for line in times if line.strip().startswith("t3-compute-"))
    cells = line.split()
    assert (cells[1], *cells[-2:]) == ("23.46", "98.77", "1.090x")


@pytest.mark.parametrize(("band", "reported"), [(0.0, True), (0.01, True), (0.03, False)])
def test_unexpected_slowness_is_reported(band, reported, monkeypatch, capsys, tmp_path):
    """A run with a sample of the channels reports no difference within the sample's band."""

    def simulate(plan, progress):
        result = example_result(plan.workload, plan.options)
        t3 = result.configurations["t3"]
        slow = replace(t3, total_ns=1.02 * t3.total_ns)
        configurations = {**result.configurations, "t3-mca": slow}
        return replace(result, configurations=configurations, sampling_band=band)

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", simulate)
    assert main(["run", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert ("t3-mca is 2.0% slower than t3.\n" in printed) == reported
    assert ("Channels simulated: 1 of 32. Speedups are within" in printed) == (band > 0)
    known = json.loads((tmp_path / "result.json").read_text())
    assert (known["repetitions"], known["sampling_band"]) == ([], band)
    if not reported:
        assert known["slower"] == []
        return
    (one,) = known["slower"]
    assert (one["configuration"], one["than"], one["within_variation"]) == ("t3-mca", "t3", None)
    assert one["by"] == pytest.approx(0.02)
