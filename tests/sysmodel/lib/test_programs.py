import os
import signal
import threading
import time

import pytest

from sysmodel.lib import programs
from sysmodel.lib.programs import Ended, run_program
from tests.support.programs_left import end_soon

# Says by the names of files who they are, and waits for the one that it has started.
TWO = 'sleep 1000 & touch "$!" "$$"; wait'


def test_what_it_prints(tmp_path):
    done = run_program(["sh", "-c", r"pwd; printf '\377' >&2; exit 3"], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "\ufffd")


def test_options(tmp_path):
    done = run_program(
        ["sh", "-c", "echo $A; exec >&2; echo b"], env={"A": "1"}, errors_with_output=True
    )
    assert (done.stdout, done.stderr) == ("1\nb\n", None)
    with pytest.raises(FileNotFoundError):
        run_program([tmp_path / "absent"])


def when_two_run(folder, call):
    """Call a function from another thread, and wait for nothing."""

    def wait():
        while len(list(folder.iterdir())) < 2:
            time.sleep(0.01)
        call()

    threading.Thread(target=wait, daemon=True).start()


def none_is_left(folder):
    pids = [path.name for path in folder.iterdir()]
    return len(pids) == 2 and end_soon(pids)


@pytest.mark.parametrize("program", [TWO, f"trap '' TERM; {TWO}"])
def test_an_interrupt_ends_it_and_what_it_started(program, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "_PATIENCE_S", 0.2)
    when_two_run(tmp_path, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", program], cwd=tmp_path)
    assert none_is_left(tmp_path)


def test_another_thread_ends_it(tmp_path):
    ended = threading.Event()
    when_two_run(tmp_path, ended.set)
    with pytest.raises(Ended):
        run_program(["sh", "-c", TWO], cwd=tmp_path, ended=ended)
    assert none_is_left(tmp_path)
