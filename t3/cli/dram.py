"""``t3 dram``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from sysmodel.config.dram_timing import Refresh
from sysmodel.config.system import load_system
from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.errors import InputError
from t3.experiments.dram.memory import memory_channel
from t3.experiments.dram.patterns import mixed, random_rows, strided
from t3.experiments.dram.serve import serve
from t3.experiments.dram.table import as_dict, print_served
from t3.experiments.dram.trace import read_trace

from .options import SystemOption, choice, integer_option, option

__all__ = ["dram"]

PATTERNS = ("read", "write", "update", "mix", "random-read", "random-write")
_LARGEST = {"requests": 1 << 24, "stride": 1 << 30, "offset": 1 << 40, "offered": 64}


def dram(
    pattern: Annotated[
        str | None, typer.Argument(metavar=f"[{'|'.join(PATTERNS)}]", help="Access pattern.")
    ] = None,
    trace: Annotated[
        Path | None,
        option(
            "Trace file in place of a pattern; each line has R, W or U and a byte address.", "FILE"
        ),
    ] = None,
    system: SystemOption = "asplos24",
    ratio: Annotated[str, option("Ratio of reads to writes in a mix.", "R:W")] = "1:1",
    offset: Annotated[
        int,
        integer_option("Bytes from the bank of a mix's reads to the first of its writes.", "BYTES"),
    ] = 0,
    stride: Annotated[
        int, integer_option("Distance between consecutive accesses, in atoms.", "ATOMS")
    ] = 1,
    requests: Annotated[int, integer_option("Number of requests of a pattern.")] = 200_000,
    offered: Annotated[
        int, integer_option("Largest number of requests accepted in one clock.")
    ] = 4,
    queue: Annotated[
        str | None,
        option("Depth of one queue, or of a read queue and a write queue.", "N|R+W"),
    ] = None,
    refresh: Annotated[
        Refresh | None, choice("Refresh scheme.", get_args(Refresh), show_default="the system's")
    ] = None,
    address_map: Annotated[
        str | None,
        typer.Option(
            "--map", help="Address map of the channel, from the lowest bit on.", metavar="MAP"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Serve a pattern or a trace with one HBM channel: bandwidth, row hits, latency.

    Addresses are local to the channel. Requests are offered in order; a request that finds the
    queue full blocks the requests behind it.
    """
    for name, value in (
        ("requests", requests), ("stride", stride), ("offset", offset), ("offered", offered)
    ):  # fmt: skip
        least = 0 if name == "offset" else 1
        if not least <= value <= _LARGEST[name]:
            raise InputError(
                name,
                f"{value} is not allowed; allowed: an integer from {least} to {_LARGEST[name]}",
            )
    loaded = load_system(system)
    atom_bytes = loaded.dram.atom_bytes
    timing, own_map = memory_channel(loaded, queue=queue, refresh=refresh, address_map=address_map)
    if (pattern is None) == (trace is None):
        raise InputError("PATTERN", f"give one of {', '.join(PATTERNS)}, or --trace")
    if trace is not None:
        accesses = read_trace(trace, atom_bytes)
    else:
        accesses = _built_in(str(pattern), requests, stride, ratio, offset, atom_bytes)
    served = serve(timing, accesses, address_map=own_map, offered_per_cycle=offered)
    if as_json:
        sys.stdout.write(json.dumps(as_dict(served, loaded), indent=2) + "\n")
    else:
        print_served(served, loaded, str(trace or pattern))


def _built_in(
    name: str, requests: int, stride: int, ratio: str, offset: int, atom_bytes: int
) -> Any:
    accesses = {"read": READ, "write": WRITE, "update": UPDATE}
    if name not in PATTERNS:
        raise InputError("PATTERN", f"{name[:20]!r} is not allowed; allowed: {', '.join(PATTERNS)}")
    if name in accesses:
        return strided(accesses[name], stride, requests=requests)
    if name.startswith("random"):
        return random_rows(accesses[name.removeprefix("random-")], requests=requests)
    parts = ratio.split(":")
    if len(parts) != 2 or not all(part.isdigit() and 1 <= int(part) <= 1000 for part in parts):
        raise InputError("ratio", f"{ratio[:20]!r} is not allowed; allowed: a ratio such as 2:1")
    try:
        return mixed(
            *map(int, parts), offset_bytes=offset, atom_bytes=atom_bytes, requests=requests
        )
    except ValueError as error:
        raise InputError("offset", str(error)) from error
