"""The command ``t3``: exit codes, and one line for every error."""

import sys
from typing import Any

import typer

from sysmodel.lib.errors import InputError, SimulationError
from t3.silicon.yowasp import ToolError

from .app import COMMANDS, app
from .checkout import CheckoutError

__all__ = ["main"]

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
        0; 1 for a failed check, a failed simulation, or a compiler or tool that is missing or
        failed; 2 for bad input and for a command that needs a checkout; 130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    group = typer.main.get_group(app)
    try:
        code = group.main(arguments or ["--help"], prog_name="t3", standalone_mode=False)
    except InputError as error:
        options = {o for command in group.commands.values() for p in command.params for o in p.opts}
        return _fail(f"--{error}" if f"--{error.field}" in options else str(error), 2)
    except CheckoutError as error:
        return _fail(str(error), 2)
    except (SimulationError, ToolError) as error:
        return _fail(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except Exception as error:
        if _no_compiler(error):
            return _fail(str(error), 1)
        usage = _usage(error)
        if usage is None:
            raise
        return _fail(usage, 2)
    if code == _INTERRUPTED:
        return _fail("interrupted", code)
    return code or 0


def _no_compiler(error: Exception) -> bool:
    """Whether the native engine lacks its compiler; says so without importing the engine."""
    build = sys.modules.get("sysmodel.engine.native.build")
    return build is not None and isinstance(error, build.NoCompilerError)


def _usage(error: Any) -> str | None:
    """What the option parser found wrong, if it did. Its errors have no public common base."""
    if not hasattr(error, "format_message"):
        return None
    options = getattr(getattr(error, "param", None), "opts", None)
    if options and error.message:
        return f"{max(options, key=len)}: {error.message}"
    message = str(error.format_message())
    if message.startswith("No such command"):
        message += f" Allowed: {', '.join(command.__name__ for command in COMMANDS)}"
    return message


def _fail(problem: str, code: int) -> int:
    print("error:" if code != _INTERRUPTED else "t3:", " ".join(problem.split()), file=sys.stderr)
    return code
