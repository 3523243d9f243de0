"""What a user can get wrong, what a simulation can, and what a tool can."""

__all__ = ["InputError", "SimulationError", "ToolError"]


class InputError(ValueError):
    """A value that a user gave and that cannot be used.

    The command line prints it as one line and ends with code 2.

    Parameters
    ----------
    field : str
        What is wrong: the name of an option without its dashes, a file and a dotted key, a path.
    problem : str
        The value, and what is allowed.
    """

    def __init__(self, field: str, problem: str):
        self.field = field
        self.problem = " ".join(problem.split())
        super().__init__(f"{field}: {self.problem}")


class SimulationError(RuntimeError):
    """The simulated hardware reported an error, refused its program, or came to a halt."""


class ToolError(Exception):
    """A tool is missing or failed; its last line says why."""
