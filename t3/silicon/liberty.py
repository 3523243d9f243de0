"""Parser of the Liberty format: groups, and attributes as text.

The package liberty-parser takes seven to ten times as long (3.3 s for sky130) and brings SymPy.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Group", "parse"]

_ignored = re.compile(r"/\*.*?\*/|//[^\n]*|\\[ \t]*\r?\n", re.DOTALL)
_statement = re.compile(
    r"""[\s;]*(?:
        (?P<close>\})
      | "?(?P<name>[\w.\[\]]+)"?\s*(?:
            :\s*(?P<value>"[^"]*"|[^;\n}]*)
          | \((?P<arguments>(?:[^()"]|"[^"]*")*)\)\s*(?P<opens>\{)?
        )
    )""",
    re.VERBOSE,
)
_argument = re.compile(r'"([^"]*)"|([^,\s"]+)')


@dataclass
class Group:
    """Group ``kind (arguments) { ... }``.

    Parameters
    ----------
    values : dict of str to str
        Attributes of one value, without quotes.
    lists : dict of str to tuple of str
        Attributes of several values, such as the rows of ``values``.
    """

    kind: str
    arguments: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def all(self, kind: str) -> Iterator["Group"]:
        """Yield the inner groups of a kind, in their order."""
        return (group for group in self.groups if group.kind == kind)

    def first(self, kind: str) -> "Group | None":
        return next(self.all(kind), None)


def parse(text: str) -> Group:
    """Parse a library.

    Raises
    ------
    ValueError
        The text is not Liberty; the message gives the line in the text without comments.
    """
    text = _ignored.sub(" ", text)
    root = Group("", ())
    inside = [root]
    position, end = 0, len(text.rstrip("\n\t\r ;"))
    while position < end:
        found = _statement.match(text, position)
        if not found:
            raise ValueError(f"line {text.count(chr(10), 0, position) + 1} is not Liberty")
        position = found.end()
        name, value, arguments, opens = found.group("name", "value", "arguments", "opens")
        if name is None:
            inside.pop()
            if not inside:
                raise ValueError("there is one closing brace too many")
        elif value is not None:
            inside[-1].values[name] = value.strip().strip('"')
        else:
            parts = tuple(quoted or plain for quoted, plain in _argument.findall(arguments))
            if opens:
                inside[-1].groups.append(Group(name, parts))
                inside.append(inside[-1].groups[-1])
            else:
                inside[-1].lists[name] = parts
    if len(inside) > 1:
        raise ValueError(f"group {inside[-1].kind} is not closed")
    library = root.first("library")
    if library is None:
        raise ValueError("the file has no library group")
    return library
