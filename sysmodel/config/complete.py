"""System as one file: every value, the file that gives it, and its source."""

import json
import os
import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby

import tomlkit

from sysmodel.lib.dotted import dotted

from .bundled import is_path
from .parameters import Parameter, files_of, parameters
from .schema import read_toml
from .system import System, load_system
from .topology_shapes import Topology

__all__ = ["complete_toml", "differences"]

_WORDS = ("name", "description", "source")


def complete_toml(source: str, header: Iterable[str] = ()) -> str:
    """Write a system as TOML without a base; a comment behind each value names its file and source.

    Parameters
    ----------
    source : str
        Name of a preset, or a file.
    header : iterable of str
        Lines of the comment at the beginning.

    Raises
    ------
    InputError
        The system is not sound.
    """
    system = load_system(source)
    lines = [*(f"# {line}" for line in header), ""]
    for key in ("description", "source"):
        lines.append(f"{key} = {tomlkit.string(getattr(system, key)).as_string()}")
    values = sorted(parameters(source), key=_place)
    for section, group in groupby(values, key=_section):
        lines += ["", _header(section)] if section else []
        given = [(one, f"{one.key.rpartition('.')[2]} = {one.value}") for one in group]
        lines += [f"{text:35} # {_origin(one)}" for one, text in given]
        if not section:
            command = ["t3", "topology", "show", _topology(source, system), "--system", source]
            lines.append(f"# the values of the topology: {shlex.join(command)}")
    return "\n".join(lines) + "\n"


def differences(one: str, other: str) -> list[tuple[str, str, str]]:
    """List the keys whose values differ between two systems, with both values; a dash for none.

    The key ``topology`` has the topology's name, and its values have keys that begin with this one.

    Raises
    ------
    InputError
        One of the systems is not sound.
    """
    values = []
    for field, source in (("one", one), ("other", other)):
        system = load_system(source, field=field)
        found = {value.key: value.value for value in parameters(source)}
        values.append({**found, **dict(_of_topology(system.topology))})
    keys = dict.fromkeys((*values[0], *values[1]))
    pairs = ((key, *(one.get(key, "-") for one in values)) for key in keys)
    return [(key, first, second) for key, first, second in pairs if first != second]


def _of_topology(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield the name of a topology and its values in TOML, by dotted path."""
    yield "topology", json.dumps(topology.name)
    for key, value in dotted(topology.model_dump(mode="json", exclude_none=True)):
        if key.rpartition(".")[2] not in _WORDS and value != {}:
            yield f"topology.{key}", json.dumps(value)


def _topology(source: str, system: System) -> str:
    """Topology of a system as an argument of a command in the working folder."""
    for path in files_of(source):
        given = read_toml(path).get("topology")
        if given is not None:
            return os.path.join(path.parent, given) if is_path(given) else str(given)
    return system.topology.name


def _section(one: Parameter) -> str:
    return one.key.rpartition(".")[0]


def _place(one: Parameter) -> tuple[int, str]:
    """Sort key: sections in the order of the schema, each before its subsections."""
    section = _section(one)
    if not section:
        return -1, section
    return list(System.model_fields).index(section.partition(".")[0]), section


def _header(section: str) -> str:
    name, _, last = section.rpartition(".")
    return f"[[{name}]]" if last.isdigit() else f"[{section}]"


def _origin(one: Parameter) -> str:
    return f"{one.file}: {one.source}" if one.source else one.file
