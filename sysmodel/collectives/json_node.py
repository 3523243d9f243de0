"""Values of a JSON file, with the paths of their keys for messages."""

from dataclasses import dataclass
from typing import Any

from sysmodel.lib.errors import InputError, short

__all__ = ["Node"]


@dataclass(frozen=True)
class Node:
    """Value in the file, with the path of its keys."""

    value: Any
    file: str
    path: str = ""

    def refuse(self, problem: str) -> InputError:
        """Make an error that names the file and the path."""
        return InputError(f"{self.file}: {self.path}" if self.path else self.file, problem)

    def has(self, key: str) -> bool:
        """Test whether the value is an object with a key."""
        return isinstance(self.value, dict) and key in self.value

    def at(self, key: str) -> "Node":
        """Return the value of a key."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"{short(self.value)} is not allowed; allowed: an object")
        if key not in self.value:
            raise self.refuse(f"the key {key!r} is missing")
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.value[key], self.file, path)

    def each(self, key: str) -> list["Node"]:
        """Elements of the list of a key; none if the key is missing."""
        if not self.has(key):
            return []
        inner = self.at(key)
        if not isinstance(inner.value, list):
            raise inner.refuse(f"{short(inner.value)} is not allowed; allowed: a list")
        return [Node(one, self.file, f"{inner.path}[{at}]") for at, one in enumerate(inner.value)]

    def number(self, limit: int | None = None) -> int:
        """Return the value as an integer from 0 on."""
        number = self.value
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise self.refuse(f"{short(number)} is not allowed; allowed: a number from 0 on")
        if limit is not None and number >= limit:
            raise self.refuse(f"{short(number)} is not there; allowed: 0 to {limit - 1}")
        return number

    def word(self, allowed: tuple[str, ...]) -> str:
        """Return the value as one of a few words."""
        if self.value not in allowed:
            shown = ", ".join(allowed)
            raise self.refuse(f"{short(self.value)} is not supported; allowed: {shown}")
        return str(self.value)
