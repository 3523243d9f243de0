"""Errors of user input, of a simulation, and of an external tool."""

from typing import Any

__all__ = ["InputError", "SimulationError", "ToolError", "short"]

_MOST_CHARACTERS = 40


class InputError(ValueError):
    """Invalid value given by a user.

    The command line prints the error as one line and exits with code 2.

    Parameters
    ----------
    field : str
        Name of the invalid field: an option without dashes, a file with a dotted key, or a path.
    problem : str
        Value, and the allowed values.
    """

    def __init__(self, field: str, problem: str):
        self.field = field
        self.problem = " ".join(problem.split())
        super().__init__(" ".join(f"{field}: {self.problem}".split()))

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str]]:
        return type(self), (self.field, self.problem)


class SimulationError(RuntimeError):
    """Simulated hardware that reported an error, refused its program, or stopped."""


class ToolError(Exception):
    """Missing or failed tool; the last line of the message gives the reason."""


def short(value: Any) -> str:
    """Show a value in a message, by 40 characters at most."""
    try:
        shown = repr(value)
    except Exception:  # an integer of thousands of digits, or an object that cannot show itself
        shown = f"a value of type {type(value).__name__}"
    return shown if len(shown) <= _MOST_CHARACTERS else shown[: _MOST_CHARACTERS - 3] + "..."
