"""Topologies: the links and switches between GPUs, as TOML files that hold for any number of GPUs.

The bundled topologies are such files; a user's file may be complete, or begin with ``base =
"switch"`` and give only the values that differ. Keys carry their units.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysmodel.lib.errors import InputError, short

from .bundled import TOPOLOGIES, Located
from .merging import Content, load_content, merged
from .schema import validate
from .topology_shapes import FullyConnected, Nodes, Ring, Switched, Topology, Torus

__all__ = ["check_reference", "load_topology", "restored_topology", "topology_names"]

_SHAPES: dict[str, type[Topology]] = {
    "ring": Ring,
    "fully-connected": FullyConnected,
    "switch": Switched,
    "torus": Torus,
    "nodes": Nodes,
}


def topology_names() -> list[str]:
    """Names of the bundled topologies."""
    return TOPOLOGIES.names()


def load_topology(
    source: Topology | Mapping[str, Any] | Path | str,
    *,
    field: str = "topology",
    beside: Path = Path(),
) -> Topology:
    """Load a topology.

    Parameters
    ----------
    source : str, Path, mapping or Topology
        Name of a bundled topology, path of a TOML file, the content of such a file, or a topology
        itself. A string with a ``/`` or with the suffix ``.toml`` is a path.
    field : str
        Argument or key that gives the source, for messages.
    beside : Path
        Folder to which paths are relative.

    Raises
    ------
    InputError
        The topology is not valid; the message names file, key, value and the allowed values.
    """
    if isinstance(source, Topology):
        return source
    data, where = _content(source, field, beside)
    shape = _shape(data, where)
    if shape is Nodes and "inside" in data:
        data["inside"] = _inside(*data["inside"])
    return validate(shape, data, where)


def check_reference(source: Any, field: str, place: Located) -> None:
    """Check that a file names a topology rather than containing it, as a dictionary may.

    Raises
    ------
    InputError
        The source is a table in a file.
    """
    if isinstance(source, Mapping) and place.is_file:
        problem = f"a table is not allowed in a file; allowed: {TOPOLOGIES.allowed}"
        raise InputError(field, problem)


def restored_topology(dump: Mapping[str, Any]) -> Topology:
    """Restore a topology from its dump, which may have changed values.

    Raises
    ------
    InputError
        A value is not allowed; the field of the error is the value's key.
    """
    name = str(dump.get("name"))
    try:
        return validate(_shape(dump, name), dict(dump), name)
    except InputError as error:
        raise InputError(error.field.removeprefix(f"{name}: "), error.problem) from error


def _shape(data: Mapping[str, Any], where: str) -> type[Topology]:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _SHAPES:
        problem = f"{short(kind)} is not allowed" if "kind" in data else "missing"
        raise InputError(f"{where}: kind", f"{problem}; allowed: {', '.join(_SHAPES)}")
    return _SHAPES[kind]


def _over(base: Content, data: Content, where: str) -> Content:
    """Merge the content of a file over its base, which has the same kind."""
    kind = base.get("kind")
    if data.get("kind", kind) != kind:
        problem = f"{short(data['kind'])} is not allowed; allowed: {kind!r}"
        raise InputError(f"{where}: kind", f"{problem}, the kind of the base")
    if "link" in data and isinstance(data["link"], dict):
        base = _without_rate(base, data["link"])
    return merged(base, data)


def _without_rate(below: Content, link: Content) -> Content:
    """Leave out the rate of a base's links where the file gives one of the other kind."""
    of_link, of_port = {"bandwidth_gb_per_s"}, {"port_gb_per_s", "port_links"}
    replaced = (of_port if of_link & link.keys() else set()) | (
        of_link if of_port & link.keys() else set()
    )
    if not isinstance(below.get("link"), dict) or not replaced:
        return below
    kept = {key: value for key, value in below["link"].items() if key not in replaced}
    return {**below, "link": kept}


def _anchored(data: Content, place: Located) -> Content:
    """Keep the file that gives ``inside``, also if another file has it as its base."""
    if "inside" in data:
        check_reference(data["inside"], f"{place.where}: inside", place)
        data = {**data, "inside": (data["inside"], place)}
    return data


def _content(
    source: Mapping[str, Any] | Path | str, field: str, beside: Path
) -> tuple[Content, str]:
    return load_content(
        source, TOPOLOGIES, field=field, beside=beside, prepare=_anchored, combine=_over
    )


def _inside(source: Any, giver: Located) -> Topology:
    """Load the topology of a node, which the key ``inside`` of a file gives.

    Nodes are refused before their own ``inside`` is loaded, so a circle ends here.
    """
    field = f"{giver.where}: inside"
    if isinstance(source, Topology):
        return source
    data, where = _content(source, field, giver.path.parent)
    if _shape(data, where) is not Nodes:
        return load_topology(source, field=field, beside=giver.path.parent)
    problem = f"{short(source)} is not allowed"
    if "inside" in data and _same_file(data["inside"][1], giver):
        problem = f"{short(source)} is inside itself"
        if (giver.path.parent / source).resolve() != giver.path.resolve():
            problem += f", by its base {giver.where}"
    raise InputError(field, f"{problem}; allowed: a topology that is not of nodes")


def _same_file(one: Located, other: Located) -> bool:
    return one.is_file and other.is_file and one.path.resolve() == other.path.resolve()
