"""The command ``t3``: exit codes, and one line for every error."""

import errno
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from sysmodel.lib.errors import InputError, SimulationError, ToolError

from .app import CheckoutError, app, load

__all__ = ["main"]

_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_LONGEST_USAGE = 300
"""Most characters of a message of the option parser, which shows arguments of any length."""
_INTERRUPTED = 130  # exit code that a shell reports for a command that Ctrl-C ended


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : list of str or None
        Arguments without the program's name; by default the arguments of the process.

    Returns
    -------
    int
        0 for success; 1 for a failed check, a failed simulation, a missing or failed compiler or
        tool, or output that cannot be written; 2 for bad input and for a command that needs a
        checkout; 130 after Ctrl-C, SIGTERM or SIGHUP.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if sys.stderr is None:  # The shell closed it.
        sys.stderr = open(os.devnull, "w")
    if sys.stdout is None:
        return _fail("standard output cannot be written: it is closed", 1)
    _replace_unencodable(sys.stdout)
    with _termination_as_interrupt():
        try:
            code = _run(arguments or ["--help"])
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = _fail("interrupted", _INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE or (
                error.errno in _OUTPUT_ERRORS and _is_lost(sys.stdout)
            ):
                code = _lost_output(error)
            elif error.errno in _FULL:
                code = _fail(_full(error), 2)
            else:
                raise
    return code


def _run(arguments: list[str]) -> int:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    try:
        code = group.main(arguments, prog_name="t3", standalone_mode=False)
    except InputError as error:
        command = load(arguments[0]) if arguments[0] in group.commands else group
        if isinstance(command, TyperGroup):  # the fields are those of its own command
            command = next((command.commands[a] for a in arguments if a in command.commands), group)
        options = {one.name: one.opts[0] for one in command.params if one.opts[0].startswith("-")}
        return _fail(f"{options.get(error.field, error.field)}: {error.problem}", 2)
    except CheckoutError as error:
        return _fail(str(error), 2)
    except (SimulationError, ToolError) as error:
        return _fail(str(error), 1)
    except typer.Abort:  # Some versions of Typer turn an interrupt into this,
        raise KeyboardInterrupt from None
    except OSError:
        raise
    except Exception as error:
        if _no_compiler(error):
            return _fail(str(error), 1)
        usage = _usage(error)
        if usage is None:
            raise
        return _fail(usage, 2)
    if code == _INTERRUPTED:  # others into this.
        raise KeyboardInterrupt
    return code or 0


def _replace_unencodable(stream: TextIO) -> None:
    """Print a question mark for each letter that the encoding of the terminal lacks."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM, and SIGHUP of a closed terminal, as Ctrl-C: the command saves its results."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # nohup ignores SIGHUP; the command must ignore it, too.
    handled = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) == signal.SIG_DFL]
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _is_lost(stream: TextIO) -> bool:
    """Test whether text can no longer be written to a stream."""
    try:
        stream.write("\n")
        stream.flush()
    except (OSError, ValueError):
        return True
    return False


def _full(error: OSError) -> str:
    """Message about a folder that is full or read-only, which no option names."""
    place = repr(error.filename) if error.filename else f"a file in {tempfile.gettempdir()!r}"
    names = "T3_CACHE_DIR names the cache folder, TMPDIR the folder of temporary files"
    return f"{place} cannot be written: {error.strerror}; {names}"


def _lost_output(error: OSError) -> int:
    """Report that standard output cannot be written, unless its reader closed it."""
    # The text left in the buffer would raise the error again when Python ends.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return 1
    return _fail(f"standard output cannot be written: {error.strerror}", 1)


def _no_compiler(error: Exception) -> bool:
    """Detect that the native engine lacks its compiler, without importing the engine."""
    build = sys.modules.get("sysmodel.engine.native.build")
    return build is not None and isinstance(error, build.NoCompilerError)


def _usage(error: Any) -> str | None:
    """Message of an error of the option parser, whose errors have no public common base."""
    if not hasattr(error, "format_message"):
        return None
    options = getattr(getattr(error, "param", None), "opts", None)
    if options and error.message:
        return f"{max(options, key=len)}: {error.message}"
    message = str(error.format_message())
    if len(message) > _LONGEST_USAGE:
        message = f"{message[:_LONGEST_USAGE]}..."
    group = getattr(getattr(error, "ctx", None), "command", None)
    if isinstance(group, TyperGroup):  # The command is unknown, or missing.
        message += f" Allowed: {', '.join(group.commands)}"
    return message


def _fail(problem: str, code: int) -> int:
    print("error:" if code != _INTERRUPTED else "t3:", " ".join(problem.split()), file=sys.stderr)
    return code
