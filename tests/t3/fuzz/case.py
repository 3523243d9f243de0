"""Case of the generator: files, and a command or a call that reads them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

__all__ = ["Call", "Case", "Command", "FOLDER"]

FOLDER = None
"""Content of a folder among the files of a case."""


@dataclass(frozen=True)
class Command:
    """Arguments of ``t3``, and the output to which it prints."""

    arguments: tuple[str, ...]
    encoding: str = "utf-8"
    to_full_device: bool = False

    def __str__(self) -> str:
        return f"t3 {' '.join(map(repr, self.arguments))}"


@dataclass(frozen=True)
class Call:
    """Call of a function of the library ``t3``."""

    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    def __str__(self) -> str:
        words = [*map(repr, self.arguments)]
        words += [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"t3.{self.function}({', '.join(words)})"


@dataclass
class Case:
    """Case with the names of which a message must contain one.

    Attributes
    ----------
    files : dict
        Contents of the files in the working folder, or ``FOLDER``, by name.
    blamed : set of str
        Names of the arguments, keys and files that were drawn at random.
    faults : float
        Probability of a value that is not allowed, for each value.
    written : tuple of str
        Names of the files that a successful command writes to the folder ``out``.
    """

    what: Command | Call | None = None
    files: dict[str, bytes | None] = field(default_factory=dict)
    blamed: set[str] = field(default_factory=set)
    faults: float = 0.0
    out: str | None = None
    written: tuple[str, ...] = ()

    def pick(self, random: Random, *allowed: Any, wrong: Sequence[Any] = ()) -> Any:
        """Draw an allowed value, or with the probability ``faults`` a wrong one."""
        return random.choice(wrong if wrong and random.random() < self.faults else allowed)


Maker = Callable[[Random, Case], None]
