"""Topologies on the terminal: their list, and the links of one of them."""

from dataclasses import dataclass

from sysmodel.config.topology import load_topology, topology_names
from sysmodel.config.topology_shapes import Topology
from sysmodel.lib.errors import InputError
from sysmodel.network.fabric import SENDERS, DirectedLink, Fabric

from .terminal import terminal, terminal_table
from .units import counted

__all__ = ["LinkKind", "link_kinds", "print_fabric", "print_topologies"]

_MOST_GPUS_OF_ROUTES = 64  # the ways between more GPUs take seconds to find


@dataclass(frozen=True)
class LinkKind:
    """Links of a fabric that have equal values and ends of one kind."""

    ends: str
    links: tuple[DirectedLink, ...]


def link_kinds(fabric: Fabric) -> list[LinkKind]:
    """Sort the links of a fabric by their ends and values."""
    several_levels = any(link.between_nodes for link in fabric.links)
    found: dict[tuple[str, object, float], list[DirectedLink]] = {}
    for link in fabric.links:
        ends = " to ".join(_kind(fabric, vertex) for vertex in (link.source, link.target))
        if several_levels:
            ends += ", between nodes" if link.between_nodes else ", in a node"
        found.setdefault((ends, link.values, link.latency_ns), []).append(link)
    return [LinkKind(key[0], tuple(links)) for key, links in found.items()]


def _kind(fabric: Fabric, vertex: int) -> str:
    return "GPU" if fabric.is_gpu(vertex) else "switch"


def print_topologies() -> None:
    """Print the bundled topologies."""
    console = terminal()
    table = terminal_table("Topologies", "name", "kind", "GPUs", "description", text_columns=4)
    for name in topology_names():
        topology = load_topology(name)
        table.add_row(name, topology.kind, topology.allowed_gpus, topology.description)
    console.print(table)
    console.print(
        "Each is a file: t3 topology file NAME prints it, with its values' sources. Save it, "
        "change it, and give it to t3 topology show FILE.toml.",
        soft_wrap=True,
    )


def print_fabric(topology: Topology, fabric: Fabric) -> None:
    """Print the links of a topology for a number of GPUs, its switches, and its longest way."""
    console = terminal()
    columns = "count", "GB/s", "stores GB/s", "T3 GB/s", "ns", "first"
    title = f"{topology.name}: {topology.description}; {fabric.gpus} GPUs"
    table = terminal_table(title, "links", *columns)
    for kind in link_kinds(fabric):
        first = kind.links[0]
        rates = map(first.payload_bytes_per_ns, SENDERS)
        ends = " to ".join(_name(fabric, vertex) for vertex in (first.source, first.target))
        numbers = (f"{len(kind.links):,}", *(f"{rate:,.5g}" for rate in rates))
        table.add_row(kind.ends, *numbers, f"{first.latency_ns:,.5g}", ends)
    console.print(table)
    for line in (*_switch_lines(fabric), _longest_way(fabric), f"Source: {topology.source}."):
        console.print(line, soft_wrap=True)


def _name(fabric: Fabric, vertex: int) -> str:
    number = vertex if fabric.is_gpu(vertex) else vertex - fabric.gpus
    return f"{_kind(fabric, vertex)} {number}"


def _switch_lines(fabric: Fabric) -> list[str]:
    """Describe the switches of each kind."""
    lines = []
    for switch in dict.fromkeys(fabric.switches):
        noun = "switch" if fabric.switches.count(switch) == 1 else "switches"
        abilities = [
            "copies packets" if switch.multicasts else "copies no packet",
            "adds packets" if switch.reduces else "adds none",
        ]
        lines.append(
            f"{fabric.switches.count(switch)} {noun} with queues of {switch.queue_bytes:,} bytes, "
            f"{switch.latency_ns:g} ns in the latency of the links behind; "
            f"{' and '.join(abilities)}."
        )
    return lines


def _longest_way(fabric: Fabric) -> str:
    """Describe the way with the largest latency, and the pairs that have none."""
    gpus = range(fabric.gpus)
    if fabric.gpus > _MOST_GPUS_OF_ROUTES:
        return f"The ways between more than {_MOST_GPUS_OF_ROUTES} GPUs are not listed."
    ways, missing = [], []
    for source, destination in ((a, b) for a in gpus for b in gpus if a != b):
        try:
            ways.append(fabric.route(source, destination))
        except InputError:
            missing.append((source, destination))
    longest = max(ways, key=fabric.latency_ns)
    text = f"Longest way: {counted(len(longest), 'link')}, {fabric.latency_ns(longest):,.5g} ns"
    if missing:
        text += f"; {counted(len(missing), 'pair')} without a way, GPU {missing[0][0]} to GPU "
        text += f"{missing[0][1]} first"
    return f"{text}."
