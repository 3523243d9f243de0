"""External programs, which end with the process that waits for them."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

__all__ = ["program_output", "run_program"]

_PATIENCE_S = 5.0


def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    errors_with_output: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a program and capture its output.

    The program is in a process group of its own, out of reach of Ctrl-C. An interrupt of this
    process ends the program immediately, with all processes that it has started.

    Parameters
    ----------
    command : sequence of str or Path
        Program and arguments.
    cwd, env
        Parameters of :class:`subprocess.Popen`.
    errors_with_output : bool
        Capture standard error as part of the output.

    Returns
    -------
    subprocess.CompletedProcess
        Output and exit code, whatever the code.
    """
    with ThreadPoolExecutor(1) as thread:
        # Signal handlers run in the main thread, so no interrupt comes between start and result.
        start = thread.submit(
            subprocess.Popen,
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors_with_output else subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            program = start.result()
            output, errors = program.communicate()
        except BaseException:
            if start.exception() is None:
                with start.result() as program:
                    _end(program.pid)
            raise
    return subprocess.CompletedProcess(command, program.returncode, output, errors)


def program_output(command: Sequence[str | Path], **options: Any) -> str:
    """Run a program and return its standard output; see :func:`run_program`.

    Raises
    ------
    RuntimeError
        The program failed; the message has the end of its output.
    """
    done = run_program(command, **options)
    if done.returncode:
        printed = (done.stdout + done.stderr)[-4000:]
        raise RuntimeError(f"{command[0]} failed with status {done.returncode}:\n{printed}")
    return done.stdout


def _end(pid: int) -> None:
    """Give a program a moment to clean up, then kill it with all processes that it has started."""
    left = []
    with suppress(psutil.NoSuchProcess):
        left = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
        left = psutil.wait_procs(left, timeout=_PATIENCE_S)[1]
        os.killpg(pid, signal.SIGKILL)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
