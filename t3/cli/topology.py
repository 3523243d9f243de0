"""``t3 topology``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sysmodel.config.bundled import TOPOLOGIES
from sysmodel.lib.errors import InputError, short

from .completion import topologies
from .options import SystemOption, integer_option, option

__all__ = ["app"]

app = typer.Typer(name="topology", add_completion=False)

_PICTURES = (".png", ".svg")

_Topology = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.toml",
        help="A bundled topology, or a TOML file.",
        autocompletion=topologies,
    ),
]


@app.callback()
def topology() -> None:
    """List the topologies of GPUs, print the file of one, or show its links and its picture."""


@app.command("list")
def list_all() -> None:
    """List the bundled topologies with the numbers of GPUs that they allow."""
    from t3.report.topology import print_topologies

    print_topologies()


@app.command()
def file(
    name: Annotated[str, typer.Argument(help="A bundled topology.", autocompletion=topologies)],
) -> None:
    """Print the file of a bundled topology, with its values' sources."""
    sys.stdout.write(TOPOLOGIES.path(name, "name").read_text(encoding="utf-8"))


@app.command()
def show(
    name: _Topology,
    gpus: Annotated[
        int | None,
        integer_option("Number of GPUs.", show_default="8, or the least that the topology allows"),
    ] = None,
    system: SystemOption = "asplos24",
    picture: Annotated[
        Path | None, option("Also draw the topology into a PNG or SVG file.", "FILE")
    ] = None,
) -> None:
    """Show the links of a topology: count, rates of line and payload, latency, and ends.

    The system's link gives the values that the topology leaves out.
    """
    from sysmodel.collectives.registry import library_algorithm
    from sysmodel.config.system import load_system
    from sysmodel.config.topology import load_topology
    from sysmodel.lib.output import writing
    from sysmodel.network.expansion import expand
    from t3.report.topology import print_fabric

    if picture is not None and picture.suffix not in _PICTURES:
        allowed = f"a file that ends with {' or '.join(_PICTURES)}"
        raise InputError("picture", f"{short(str(picture))} is not allowed; allowed: {allowed}")
    found = load_topology(name)
    library_algorithm(found)
    fabric = expand(found, found.usual_gpus if gpus is None else gpus, load_system(system).link)
    if picture is not None:
        from t3.report.topology_picture import draw_topology

        with writing(picture, "picture"):
            draw_topology(found, fabric, picture)
    print_fabric(found, fabric)
