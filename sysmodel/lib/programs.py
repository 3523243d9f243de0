"""Programs that work for this one, and end when it no longer waits for them."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["Ended", "run_program"]

_POLL_S = 0.3
_PATIENCE_S = 5.0


class Ended(Exception):
    """Nobody waits for the program any more."""


def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    errors_with_output: bool = False,
    ended: threading.Event | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program, and keep what it prints.

    It does not hear Ctrl-C. After an error or an interrupt of this thread it ends at once, with
    all that it has started.

    Parameters
    ----------
    command : sequence of str or Path
    cwd, env
        As of :class:`subprocess.Popen`.
    errors_with_output : bool
        What it says on standard error is part of its output.
    ended : threading.Event, optional
        Set by another thread, when the program is to end at once.

    Returns
    -------
    subprocess.CompletedProcess
        Whatever its exit code.

    Raises
    ------
    Ended
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors_with_output else subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            while not (ended and ended.is_set()):
                with suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=_POLL_S)
                    return subprocess.CompletedProcess(command, process.returncode, output, errors)
            raise Ended
        except BaseException:
            _end(process)
            raise


def _end(process: "subprocess.Popen[str]") -> None:
    """Let it and its group clean up, but not for long."""
    for how in signal.SIGTERM, signal.SIGKILL:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
