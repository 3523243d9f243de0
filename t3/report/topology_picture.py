"""Picture of a topology: its GPUs, its switches, and the links between them."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from sysmodel.config.topology_shapes import Nodes, Switched, Topology, Torus
from sysmodel.network.fabric import DirectedLink, Fabric

from .style import drawn, save

__all__ = ["draw_topology", "places"]

Place = tuple[float, float]

_GPU_COLOUR, _SWITCH_COLOUR = "#30507a", "#8c8c8c"
_LINK_COLOURS = {False: "#7d9cc7", True: "#d9722e"}
_DPI = 150
_FEW_GPUS = 16  # most GPUs whose marks are large
_NODE_WIDTH = 2.8  # distance between nodes, whose radius is 1
_BEND = 0.16  # sag of a link that closes a dimension of a torus, as a share of its length
_BENT = 1.5  # length from which on a torus's link is bent, in links to a neighbour
_ASLANT = 0.38  # distance along a torus's third dimension


def draw_topology(topology: Topology, fabric: Fabric, path: Path) -> None:
    """Draw a topology into a PNG or SVG file, chosen by the file's suffix.

    A line is a link in each direction, an arrow a link in one.
    """
    at = places(topology, fabric)
    width = max(x for x, _ in at) - min(x for x, _ in at)
    with drawn(min(14.0, max(6.0, 1.4 * width)), 6.2) as (figure, grid):
        axes = grid[0, 0]
        _draw_links(axes, topology, fabric, at)
        _draw_vertices(axes, fabric, at)
        axes.set_aspect("equal")
        axes.margins(0.12)
        axes.set_axis_off()
        axes.set_title(f"{topology.name}, {fabric.gpus} GPUs", loc="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False)
        if path.suffix == ".svg":
            save(figure, path)
        else:
            figure.savefig(path, dpi=_DPI)


def places(topology: Topology, fabric: Fabric) -> list[Place]:
    """Place of each vertex: GPUs of a torus in a grid, others on a circle for each node, their
    switches inside; the switches of a network above the nodes."""
    if isinstance(topology, Nodes):
        return _nodes_places(topology, fabric)
    if isinstance(topology, Torus):
        return _grid_places(topology.sizes_of(fabric.gpus))
    return [*_circle(fabric.gpus), *_planes(len(fabric.switches))]


def _nodes_places(topology: Nodes, fabric: Fabric) -> list[Place]:
    size, inside = topology.gpus_per_node, topology.inside
    torus = isinstance(inside, Torus)
    own = _grid_places(inside.sizes_of(size)) if isinstance(inside, Torus) else _circle(size)
    planes = inside.switch.planes if isinstance(inside, Switched) else 0
    wide = _NODE_WIDTH + (max(x for x, _ in own) - 1 if torus else 0)
    shifts = [wide * node for node in range(fabric.gpus // size)]
    gpus = [(x + shift, y) for shift in shifts for x, y in own]
    inner = [(x + shift, y) for shift in shifts for x, y in _planes(planes)]
    outer = len(fabric.switches) - len(inner)
    top = max(y for _, y in own) + 1.2
    step = wide * max(1, len(shifts) - 1) / max(1, outer - 1)
    middle = wide * (len(shifts) - 1) / 2
    network = [(middle + step * (n - (outer - 1) / 2), top) for n in range(outer)]
    return [*gpus, *inner, *network]


def _circle(count: int) -> list[Place]:
    """GPU 0 at the top, numbers counter-clockwise."""
    angles = [math.pi / 2 + 2 * math.pi * number / count for number in range(count)]
    return [(math.cos(angle), math.sin(angle)) for angle in angles]


def _planes(count: int) -> list[Place]:
    """Switches in the middle: one, or several on a small circle, on no line between two GPUs."""
    if count == 1:
        return [(0.0, 0.0)]
    turns = [2 * math.pi * (number + 0.3) / count for number in range(count)]
    return [(0.32 * math.cos(turn), 0.32 * math.sin(turn)) for turn in turns]


def _grid_places(sizes: Sequence[int]) -> list[Place]:
    """First dimension to the right, second upwards, third aslant."""
    first, second, *third = sizes
    depth = third[0] if third else 1
    cell = 1 + _ASLANT * (depth - 1)
    return [
        (cell * x + _ASLANT * z, cell * y + 0.7 * _ASLANT * z)
        for z in range(depth)
        for y in range(second)
        for x in range(first)
    ]


def _draw_links(axes: Axes, topology: Topology, fabric: Fabric, at: Sequence[Place]) -> None:
    """Draw each link, one line for both directions, in the colour of its level."""
    inside = topology.inside if isinstance(topology, Nodes) else topology
    steps = _neighbours(fabric, at) if isinstance(inside, Torus) else {}
    directed = {(link.source, link.target) for link in fabric.links}
    for between in (False, True):
        links = [link for link in fabric.links if link.between_nodes == between]
        ends = {_ends(link, directed): link for link in links}
        if not ends:
            continue
        lines = []
        for (a, b), link in ends.items():
            length = math.dist(at[a], at[b])
            bent = length > _BENT * steps.get(link.dimension, math.inf)
            lines.append(_arc(at[a], at[b], _BEND * length if bent else 0.0))
        colour = _LINK_COLOURS[between]
        rate = f"{links[0].values.bandwidth_gb_per_s:.5g} GB/s a direction"
        label = f"between nodes: {rate}" if between else f"links of {rate}"
        axes.add_collection(LineCollection(lines, colors=colour, label=label, zorder=1))
        for (a, b), line in zip(ends, lines, strict=True):
            if (b, a) not in directed:
                _draw_head(axes, line, colour)


def _neighbours(fabric: Fabric, at: Sequence[Place]) -> dict[int, float]:
    """Shortest length of a link of each dimension."""
    lengths: dict[int, float] = {}
    for link in (one for one in fabric.links if not one.between_nodes):
        length = math.dist(at[link.source], at[link.target])
        lengths[link.dimension] = min(length, lengths.get(link.dimension, math.inf))
    return lengths


def _ends(link: DirectedLink, directed: set[tuple[int, int]]) -> tuple[int, int]:
    """Ends of a link, in one order for both directions."""
    ends = link.source, link.target
    both = ends[::-1] in directed
    return (min(ends), max(ends)) if both else ends


def _arc(begin: Place, end: Place, bend: float) -> list[Place]:
    (x, y), (u, v) = begin, end
    length = math.dist(begin, end) or 1.0
    across, up = -(v - y) / length * bend, (u - x) / length * bend
    points = []
    for share in (number / 12 for number in range(13)):
        sag = 4 * share * (1 - share)
        points.append((x + (u - x) * share + across * sag, y + (v - y) * share + up * sag))
    return points


def _draw_head(axes: Axes, line: Sequence[Place], colour: str) -> None:
    """Draw the head of an arrow in the middle of a line."""
    axes.annotate(
        "", line[8], line[5], arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.2}
    )


def _draw_vertices(axes: Axes, fabric: Fabric, at: Sequence[Place]) -> None:
    size = 320 if fabric.gpus <= _FEW_GPUS else 130
    gpus, switches = at[: fabric.gpus], at[fabric.gpus :]
    for found, colour, marker in ((gpus, _GPU_COLOUR, "o"), (switches, _SWITCH_COLOUR, "s")):
        across, up = [x for x, _ in found], [y for _, y in found]
        axes.scatter(across, up, s=size, c=colour, marker=marker, zorder=2)
        for number, (x, y) in enumerate(found):
            axes.text(
                x,
                y,
                str(number),
                color="white",
                ha="center",
                va="center",
                fontsize=9 if fabric.gpus <= _FEW_GPUS else 6,
                zorder=3,
            )
