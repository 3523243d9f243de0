"""Interrupts and deaths: no worker process and no program outlasts the process that waits for it.

The commands build on the two runners tested here; each family of commands has one test more of a
whole command that is interrupted.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from sysmodel.lib import programs
from sysmodel.lib.jobs import map_jobs
from sysmodel.lib.programs import run_program
from tests.support.ended_programs import end_soon

# Writes its process number and that of a program that it has started, and waits for it.
TWO = "tail -f /dev/null & echo $! $$ >pipe; wait"


@pytest.fixture
def folder(tmp_path):
    """A folder with a named pipe; to read it is to wait for the writer."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def interrupt_when_it_runs(folder):
    """Interrupt this process when the program has written to the pipe; return the text."""
    written = []

    def wait():
        written.extend((folder / "pipe").read_text().split())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()
    return written


@pytest.mark.parametrize("program", [TWO, f"trap '' TERM; {TWO}"])
def test_an_interrupt_ends_a_program_and_its_children(program, folder, monkeypatch):
    monkeypatch.setattr(programs, "_PATIENCE_S", 0.2)
    written = interrupt_when_it_runs(folder)
    with pytest.raises(KeyboardInterrupt):
        run_program(["sh", "-c", program], cwd=folder)
    assert len(written) == 2 and end_soon(written)


def wait_for_a_program(says: Path) -> None:
    """Run a program; write its process number and the folder of temporary files."""
    folder = tempfile.mkdtemp()
    program = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    complete = Path(folder, "says")
    complete.write_text(f"{program.pid} {os.getpid()} {folder}")
    complete.rename(says)
    program.wait()


def test_an_interrupt_ends_workers_and_their_programs(tmp_path):
    says = [tmp_path / name for name in "ab"]

    def interrupt(share: float) -> None:
        if all(one.exists() for one in says):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        map_jobs(wait_for_a_program, [(one,) for one in (*says, tmp_path / "c")], interrupt)
    assert not (tmp_path / "c").exists()
    for one in says:
        *pids, folder = one.read_text().split()
        assert not Path(folder).exists()
        assert end_soon(pids)


def interrupted(result: int) -> tuple[int, set[signal.Signals], bool]:
    """Interrupt this worker; return the signals that are blocked in it, and whether it leads a
    process group of its own."""
    os.kill(os.getpid(), signal.SIGINT)
    return result, signal.pthread_sigmask(signal.SIG_BLOCK, []), os.getpgrp() == os.getpid()


def test_workers_ignore_interrupts():
    """SIGINT is blocked from the first import on, and then ignored."""
    results = map_jobs(interrupted, [(3,), (7,)], lambda share: None)
    assert results == [(3, {signal.SIGINT}, True), (7, {signal.SIGINT}, True)]


PARENT = """
import sys
from pathlib import Path
from sysmodel.lib.jobs import map_jobs
from tests.sysmodel.lib.test_interrupts import wait_for_a_program
says = Path(sys.argv[1])
map_jobs(wait_for_a_program, [(says,)], lambda share: says.exists() and print(flush=True))
"""


def test_the_death_of_the_caller_ends_workers_and_their_programs(tmp_path):
    says = tmp_path / "says"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, says],
        env=os.environ | {"TMPDIR": str(tmp_path)},  # a killed caller leaves the workers' folder
        stdout=subprocess.PIPE,
    ) as parent:
        parent.stdout.readline()
        parent.kill()
    program, worker, _ = says.read_text().split()
    assert end_soon([program, worker])
