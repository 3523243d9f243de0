"""The command: output, files, exit codes, and one line for every bad input."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from example_run import example_result

from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.runs.check_options import CheckResult, Mismatch
from t3.cli import main as cli
from t3.cli.main import main

_FILES = ["configurations.png", "result.json", "timeline.json"]


@pytest.fixture
def simulated(monkeypatch):
    """Let `t3 run` get a ready result; lists what it asked for."""
    calls = []

    def simulate(workload, system, options, progress):
        calls.append((workload, system, options))
        progress("t3: GEMM", 0.5)
        return example_result(workload, options)

    monkeypatch.setattr(cli, "_simulate", simulate)
    return calls


def _fails(capsys, arguments: list[str], code: int = 2) -> str:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ") or code == 130
    assert printed.err.endswith("\n")
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("error: ").rstrip("\n")


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
    assert (options.engine, options.channels, options.gpus) == ("rtl", 1, "mirror")
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
    arguments += ["--config", str(config), "--configurations", "sequential, t3-mca"]
    arguments += ["--waves", "10:20", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    workload, system, options = simulated[0]
    assert (workload.m, workload.n, workload.k) == (16384, 3072, 768)
    assert (system.name, system.link.bandwidth_gb_per_s) == ("slow", 75)
    assert (options.channels, options.gpus, options.waves) == ("all", "all", (10, 20))
    assert options.configurations == ("sequential", "t3-mca")
    assert options.waves_file.parent.parent == tmp_path / "out"
    assert "ideal" not in capsys.readouterr().out


_BAD_RUNS = [
    (["--tp", "5"], "--tp: 5 does not divide T-NLG's fc2 (4 x 4256); allowed: 2, 4, 7, 8, "),
    (["--tp", "0"], "--tp: 0 does not divide"),
    (["--tp", "-8"], "--tp: -8 does not divide"),
    (["--tp", "1e3"], "--tp: '1e3' is not allowed; allowed: an integer"),
    (["--tp", "eight"], "--tp: 'eight' is not allowed; allowed: an integer"),
    (["--tp", "8.0"], "--tp: '8.0' is not allowed; allowed: an integer"),
    (["--tp", "9" * 5000], "--tp: '9999999999999999...' is not allowed; allowed: an integer"),
    (["--tp", ""], "--tp: '' is not allowed; allowed: an integer"),
    (["--tp"], "Option '--tp' requires an argument."),
    (["--model", "bert"], "--model: 'bert' is not known; allowed: t-nlg, mega-gpt-2"),
    (["--layer", "fc9"], "--layer: 'fc9' is not known; allowed: op, fc1, fc2, ip"),
    (["--engine", "c"], "--engine: 'c' is not allowed; allowed: rtl, golden"),
    (["--channels", "0"], "--channels: 0 is not allowed; allowed: 1 or more, or all"),
    (["--channels", "some"], "--channels: 'some' is not allowed; allowed: an integer, or all"),
    (["--channels", "64"], "--channels: 64 is not allowed; allowed: 1 to 32"),
    (["--gpus", "3"], "--gpus: '3' is not allowed; allowed: mirror, all"),
    (["--configurations", "t3,t4"], "--configurations: 't4' is not allowed; allowed: sequential,"),
    (["--configurations", ""], "--configurations: '' is not allowed; allowed: sequential,"),
    (["--configurations", "t3,t3"], "--configurations: each may be named once"),
    (["--waves", "7"], "--waves: '7' is not allowed; allowed: A:B, two memory cycles"),
    (["--waves", "a:b"], "--waves: 'a:b' is not allowed; allowed: A:B, two memory cycles"),
    (["--waves", "9:3"], "--waves: 9:3 is not allowed; allowed: A:B with 0 <= A < B"),
    (["--waves", "1:3", "--engine", "golden"], "--waves: a waveform needs --engine rtl"),
    (["--config", "missing.toml"], "missing.toml: no such file, and no preset; presets: asplos24"),
    (["--config", "/"], "/: cannot be read: Is a directory"),
    (["--nonsense"], "No such option: --nonsense"),
    (["nonsense"], "Got unexpected extra argument"),
]


@pytest.mark.parametrize("arguments, message", _BAD_RUNS)
def test_bad_input_to_run(simulated, capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert _fails(capsys, ["run", *arguments]).startswith(message)
    assert simulated == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text, message",
    [
        ("[gpu\n", "is not TOML: "),
        ("x = 3\n", "description: missing; "),
        ('base = "asplos24"\n[gpu]\nclock_ghz = 1.4\n', "gpu.clock_ghz: unknown key; "),
        ('base = "asplos24"\n[gpu]\nclock_mhz = "1.4 GHz"\n', "gpu.clock_mhz: '1.4 GHz' is not "),
        ('base = "asplos24"\n[gpu]\nclock_mhz = 1.4\n', "gpu.clock_mhz: 1.4 is not allowed; "),
        ('base = "asplos24"\n[kernel]\ntile_m = 1000000000000\n', "kernel.tile_m: 1000000000000 "),
    ],
)
def test_bad_files(simulated, capsys, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "bad.toml"
    config.write_text(text)
    assert _fails(capsys, ["run", "--config", "bad.toml"]).startswith(f"bad.toml: {message}")
    assert simulated == []
    assert list(tmp_path.iterdir()) == [config]


_BAD_CHECKS = [
    (["--m", "1000000000"], "--m: 1000000000 is not allowed; allowed: an integer from 1 to 4096"),
    (["--m", "0"], "--m: 0 is not allowed"),
    (["--n", "-5"], "--n: -5 is not allowed"),
    (["--k", "many"], "--k: 'many' is not allowed; allowed: an integer"),
    (["--gpus", "1"], "--gpus: 1 is not allowed; allowed: an integer from 2 to 8"),
    (["--dtype", "fp8"], "--dtype: 'fp8' is not allowed; allowed: fp16, bf16"),
    (["--engine", "x"], "--engine: 'x' is not allowed; allowed: rtl, golden"),
    (["--channels", "all"], "--channels: 'all' is not allowed; allowed: an integer"),
    (["--channels", "5"], "--channels: 5 is not allowed; allowed: 1, 2, 4, 8, 16, 32"),
    (["--skew", "-1"], "--skew: -1 is not allowed"),
    (["--back-pressure", "100"], "--back-pressure: 100 is not allowed"),
    (["--seed", "x"], "--seed: 'x' is not allowed; allowed: an integer"),
]


@pytest.mark.parametrize("arguments, message", _BAD_CHECKS)
def test_bad_input_to_check(capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(cli, "_check", lambda *_: pytest.fail("checked"))
    assert _fails(capsys, ["check", *arguments]).startswith(message)


def test_an_unknown_command(capsys):
    assert _fails(capsys, ["walk"]) == (
        "No such command 'walk'. Allowed: run, check, sweep, reproduce, validate, export, area, "
        "timing, diagrams, prove, exhaust, mutate, coverage, faults, models, presets"
    )
    assert _fails(capsys, ["presets", "v100"]) == (
        "NAME: 'v100' is not known; allowed: asplos24, asplos24-complete, mi210"
    )


def test_a_folder_that_cannot_be_written_is_found_first(simulated, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    message = _fails(capsys, ["run", "--out", str(tmp_path / "file" / "x")])
    assert message.startswith(f"--out: '{tmp_path}/file/x' cannot be written: ")
    assert simulated == []


@pytest.mark.parametrize(
    "error, code, message",
    [
        (InputError("tp", "16 is too many"), 2, "--tp: 16 is too many"),
        (InputError("kernel.tile_m", "no"), 2, "kernel.tile_m: no"),
        (SimulationError("GPU 0:\nSET_FULL"), 1, "GPU 0: SET_FULL"),
        (KeyboardInterrupt(), 130, "t3: interrupted"),
    ],
)
def test_what_goes_wrong_in_the_simulation(capsys, tmp_path, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(cli, "_simulate", fail)
    assert _fails(capsys, ["run", "--out", str(tmp_path / "out")], code) == message
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler(capsys, tmp_path, monkeypatch):
    from sysmodel.engine.native.build import NoCompilerError

    def fail(*_):
        raise NoCompilerError("no g++\nuse --engine golden")

    monkeypatch.setattr(cli, "_simulate", fail)
    message = _fails(capsys, ["run", "--out", str(tmp_path / "out")], 1)
    assert message == "no g++ use --engine golden"


def test_a_bug_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "_simulate", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main(["run", "--out", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("passed", [True, False])
def test_check(capsys, monkeypatch, passed):
    asked = []

    def compare(options, progress):
        asked.append(options)
        wrong = Mismatch(gpu=1, row=2, column=3, expected=0x3C00, found=0x3C01)
        return CheckResult(
            passed=passed,
            elements=196_608,
            mismatches=0 if passed else 1,
            cycles=5000,
            wall_s=0.5,
            first_mismatches=() if passed else (wrong,),
        )

    monkeypatch.setattr(cli, "_check", compare)
    arguments = ["check", "--gpus", "8", "--dtype", "bf16", "--skew", "90", "--back-pressure", "30"]
    assert main(arguments) == (0 if passed else 1)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert ("passed" in printed.out) == passed
    assert ("GPU 1, row 2, column 3: expected 0x3c00, found 0x3c01" in printed.out) != passed
    options = asked[0]
    assert (options.gpus, options.dtype, options.skew, options.back_pressure) == (8, "bf16", 90, 30)
    assert (options.m, options.n, options.k) == (512, 384, 128)


def test_models(capsys):
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    for word in ("t-nlg", "mega-gpt-2", "8192 x 4256 x 2128", "16384 x 3072 x 192", "Table 2"):
        assert word in printed


def test_presets(capsys):
    assert main(["presets"]) == 0
    printed = capsys.readouterr().out
    for word in ("asplos24", "asplos24-complete", "114.7 TFLOPS", "DRAMsim3"):
        assert word in printed
    assert main(["presets", "asplos24"]) == 0
    assert capsys.readouterr().out == cli.preset_path("asplos24").read_text()


def test_help(capsys):
    assert main([]) == 0
    everything = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == everything
    assert main(["run", "--help"]) == 0
    printed = capsys.readouterr().out
    for option in ("--model", "--layer", "--tp", "--engine", "--channels", "--gpus", "--config"):
        assert option in printed


@pytest.mark.parametrize("arguments", [["--help"], ["models"], ["presets"], ["run", "--tp", "3"]])
def test_quick_commands_do_not_import_the_simulation(arguments):
    program = (
        "import sys; from t3.cli.main import main; main(sys.argv[1:]); "
        "slow = {'numba', 'amaranth', 'matplotlib'} & set(sys.modules); assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)


def test_ctrl_c(tmp_path):
    program = textwrap.dedent(
        """
        import sys, time
        from t3.cli import main as cli
        def simulate(*_):
            print("ready", flush=True)
            while True:
                time.sleep(0.02)
        cli._simulate = simulate
        sys.exit(cli.main(["run", "--out", sys.argv[1]]))
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    begin = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - begin < 5
    assert errors == "t3: interrupted\n"
    assert list(tmp_path.iterdir()) == []
