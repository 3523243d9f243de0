"""The command ``t3``: exit codes, and one line for every error."""

import errno
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from sysmodel.lib.errors import InputError, SimulationError, ToolError

from .app import app
from .checkout import CheckoutError

__all__ = ["main"]

_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO)
_NUMBA_CACHING = ("numba", "core", "caching.py")
_INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended


def main(arguments: list[str] | None = None) -> int:
    """Run the command and give its exit code.

    Parameters
    ----------
    arguments : list of str or None
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        0; 1 for a failed check, a failed simulation, a compiler or tool that is missing or failed,
        or output that cannot be written; 2 for bad input and for a command that needs a checkout;
        130 after Ctrl-C, SIGTERM or SIGHUP.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    _show_what_the_terminal_can(sys.stdout)
    with _termination_as_interrupt():
        try:
            code = _run(arguments or ["--help"])
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = _fail("interrupted", _INTERRUPTED)
        except OSError as error:
            if error.filename is not None or error.errno not in _OF_OUTPUT:
                raise
            code = _lost_output(error)
    return code


def _run(arguments: list[str]) -> int:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    try:
        code = group.main(arguments, prog_name="t3", standalone_mode=False)
    except InputError as error:
        command = group.commands.get(arguments[0], group)
        options = {option for parameter in command.params for option in parameter.opts}
        option = f"--{error.field.replace('_', '-')}"
        return _fail(f"{option}: {error.problem}" if option in options else str(error), 2)
    except CheckoutError as error:
        return _fail(str(error), 2)
    except (SimulationError, ToolError) as error:
        return _fail(str(error), 1)
    except typer.Abort:  # what some versions of Typer make of an interrupt
        raise KeyboardInterrupt from None
    except OSError:
        raise
    except Exception as error:
        if _no_compiler(error):
            return _fail(str(error), 1)
        if _is_of_numba_cache(error):
            return _fail(_without_numba_cache(), 1)
        usage = _usage(error)
        if usage is None:
            raise
        return _fail(usage, 2)
    if code == _INTERRUPTED:  # what others make of it
        raise KeyboardInterrupt
    return code or 0


def _show_what_the_terminal_can(stream: TextIO) -> None:
    """A question mark for a letter that its encoding lacks."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """What ends on Ctrl-C, with everything kept, ends so when it is told to terminate, and when its
    terminal goes, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Under nohup the terminal may go.
    heard = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) == signal.SIG_DFL]
    for one in heard:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one in heard:
            signal.signal(one, signal.SIG_DFL)


def _lost_output(error: OSError) -> int:
    """Nobody reads it any more, or there is no room for it."""
    # What is still in the buffer would fail again when Python ends.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return 1
    return _fail(f"standard output cannot be written: {error.strerror}", 1)


def _no_compiler(error: Exception) -> bool:
    """Whether the native engine lacks its compiler; says so without importing the engine."""
    build = sys.modules.get("sysmodel.engine.native.build")
    return build is not None and isinstance(error, build.NoCompilerError)


def _is_of_numba_cache(error: Exception) -> bool:
    """Whether Numba could not read what it had kept."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(Path(frame.filename).parts[-3:] == _NUMBA_CACHING for frame in frames)


def _without_numba_cache() -> str:
    """Remove it, and say so."""
    folder = os.environ["NUMBA_CACHE_DIR"]
    shutil.rmtree(folder, ignore_errors=True)
    return f"compiled code in {folder} was damaged and is removed; give the command again"


def _usage(error: Any) -> str | None:
    """What the option parser found wrong, if it did. Its errors have no public common base."""
    if not hasattr(error, "format_message"):
        return None
    options = getattr(getattr(error, "param", None), "opts", None)
    if options and error.message:
        return f"{max(options, key=len)}: {error.message}"
    message = str(error.format_message())
    group = getattr(getattr(error, "ctx", None), "command", None)
    if isinstance(group, TyperGroup):  # in which there is no such command, or that lacks one
        message += f" Allowed: {', '.join(group.commands)}"
    return message


def _fail(problem: str, code: int) -> int:
    print("error:" if code != _INTERRUPTED else "t3:", " ".join(problem.split()), file=sys.stderr)
    return code
