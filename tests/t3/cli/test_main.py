"""The command ``t3``: exit codes, one line for every error, and behaviour common to commands."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import typer

import t3
from sysmodel.lib.errors import InputError, SimulationError
from t3.cli.app import PANELS, app, load
from t3.cli.main import main
from tests.support.example_run import example_result


def test_an_unknown_command(fails):
    assert fails(["walk"]) == (
        "No such command 'walk'. Allowed: run, model, sweep, compare, check, dram, models, "
        "presets, config, collective, topology, program, reproduce, machines, rivals, validate, "
        "calibrate, export, registers, area, timing, route, fpga, diagrams, prove, exhaust, "
        "mutate, coverage, faults"
    )


def test_a_long_argument_is_shown_in_part(fails):
    message = fails(["9" * 5000])
    assert message.startswith("No such command '999")
    assert message.endswith("faults")
    assert len(message) < 600


@pytest.mark.parametrize(
    "error, code, message",
    [
        (InputError("tp", "16 is too many"), 2, "--tp: 16 is too many"),
        (InputError("kernel.tile_m", "no"), 2, "kernel.tile_m: no"),
        (SimulationError("GPU 0:\nSET_FULL"), 1, "GPU 0: SET_FULL"),
        (KeyboardInterrupt(), 130, "t3: interrupted"),
    ],
)
def test_errors_of_the_simulation(fails, tmp_path, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", fail)
    assert fails(["run", "--out", str(tmp_path / "out")], code) == message
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler(fails, tmp_path, monkeypatch):
    from sysmodel.engine.native.build import NoCompilerError

    def fail(*_):
        raise NoCompilerError("no g++\nuse --engine golden")

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", fail)
    message = fails(["run", "--out", str(tmp_path / "out")], 1)
    assert message == "no g++ use --engine golden"


@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc"])
def test_compiled_code_that_is_damaged(tmp_path, damaged):
    """A damaged file of compiled code is made again, and no other file is touched."""
    for name in ("twice", "thrice"):
        (tmp_path / f"{name}.py").write_text(
            "from sysmodel.lib.compiled import compiled\n\n"
            f"@compiled\ndef {name}(x):\n    return {2 if name == 'twice' else 3} * x\n"
        )

    program = "from twice import twice; from thrice import thrice; print(twice(thrice(4)) // 3)"

    def start():
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=os.environ | {"T3_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
        )

    def files(pattern):
        return {path: path.read_bytes() for path in (tmp_path / "cache").rglob(pattern)}

    assert start().stdout == "8\n"
    before = files("*.nb?")
    ((path, content),) = files(f"twice{damaged}").items()
    path.write_bytes(content[:20])
    done = start()
    assert (done.returncode, done.stdout, done.stderr) == (0, "8\n", "")
    assert files("*.nb?").keys() == before.keys()
    assert len(path.read_bytes()) > 20
    assert start().stdout == "8\n"


@pytest.mark.parametrize("bug", [ZeroDivisionError(), OSError("invalid ELF header")])
def test_a_bug_is_not_hidden(tmp_path, monkeypatch, bug):
    def fail(*_):
        raise bug

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", fail)
    with pytest.raises(type(bug)):
        main(["run", "--out", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


def test_help(capsys):
    assert main([]) == 0
    everything = capsys.readouterr().out
    for option in ("--help", "-h"):
        assert main([option]) == 0
        assert capsys.readouterr().out == everything
    assert main(["run", "--help"]) == 0
    printed = capsys.readouterr().out
    for option in ("--model", "--layer", "--tp", "--engine", "--channels", "--gpus", "--system"):
        assert option in printed


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["models"], ["presets"], ["config", "diff"], ["collective", "show", "ring"]],
)
def test_quick_commands_do_not_import_the_simulation(arguments):
    program = (
        "import sys; from t3.cli.main import main; main(sys.argv[1:]); "
        "slow = {'numba', 'amaranth', 'matplotlib'} & set(sys.modules); assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)


_COMMANDS = [command for commands in PANELS.values() for command in commands]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_no_command_is_imported_before_it_is_used(arguments):
    commands = {f"t3.cli.{command}" for command in _COMMANDS}
    program = (
        "import sys; from t3.cli.main import main; main(sys.argv[1:]); "
        f"slow = {commands | {'numpy', 'pandas', 'pydantic', 'rich.progress'}} & set(sys.modules); "
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_of_a_command_begins_with_its_line_in_the_list(command, capsys):
    listed = typer.main.get_command(app).commands[command].help
    assert load(command).help.partition("\n\n")[0] == listed
    shown = []
    for option in ("-h", "--help"):
        assert main([command, option]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert f"Usage: t3 {command} " in shown[0]


def test_every_module_with_a_command_is_listed():
    """A module whose function has the module's name holds a command."""
    folder = Path(t3.cli.__file__).parent
    modules = {
        file.stem for file in folder.glob("*.py") if f"\ndef {file.stem}(" in file.read_text()
    }
    assert modules - {"main"} == set(_COMMANDS)


def test_help_shows_each_panel(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for panel, commands in PANELS.items():
        assert f" {panel} " in shown
        assert all(f" {command} " in shown for command in commands)


def test_completion(capsys):
    assert main(["--help"]) == 0
    assert "--show-completion" in capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "t3"],
        env=os.environ
        | {"_T3_COMPLETE": "complete_bash", "COMP_WORDS": "t3 mo", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["model", "models"]


_MAIN = "import sys; from t3.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_a_reader_that_goes_away():
    with subprocess.Popen(
        [sys.executable, "-c", _MAIN, "models"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (1, b"")


def test_a_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", _MAIN, "presets"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_output(closed):
    """A shell closes an output with ``>&-`` or ``2>&-``."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" presets {closed}>&-', sys.executable, _MAIN],
        capture_output=True,
        text=True,
    )
    if closed == 1:
        assert done.returncode == 1
        assert done.stderr == "error: standard output cannot be written: it is closed\n"
    else:
        assert done.returncode == 0


def test_a_terminal_without_other_letters():
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, "models"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_a_narrow_terminal_cuts_no_number():
    def words(columns):
        done = subprocess.run(
            [sys.executable, "-c", _MAIN, "models"],
            env=os.environ | {"COLUMNS": columns},
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    assert words("40") == words("80")


def test_version(capsys):
    assert main(["--version"]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (f"t3 {t3.__version__}\n", "")


def test_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "t3", "run", "--tp", "x"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: --tp: 'x' is not allowed; allowed: an integer\n"


@pytest.mark.parametrize(
    "how", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.verify)]
)
def test_interrupted(tmp_path, how):
    program = textwrap.dedent(
        """
        import signal, sys, time
        from t3.report import progress
        import sysmodel.runs.simulate
        from t3.cli.main import main
        progress._FIRST_LINE_S = 600
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests are under nohup
        def simulate(*_):
            print("ready", flush=True)
            while True:
                time.sleep(0.02)
        sysmodel.runs.simulate.simulate = simulate
        sys.exit(main(["run", "--out", sys.argv[1]]))
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    os.kill(process.pid, how)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors == "t3: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_a_terminal_may_go(monkeypatch, tmp_path):
    def simulate(plan, _):
        os.kill(os.getpid(), signal.SIGHUP)
        return example_result(plan.workload, plan.options)

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", simulate)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["run", "--out", str(tmp_path)]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_interrupted_before_the_command_is_known(fails, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(typer.main, "get_command", interrupt)
    assert fails(["run"], 130) == "t3: interrupted"
