"""Command ``t3 dram``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sysmodel.config.dram_timing import Refresh
from sysmodel.lib.output import json_text
from t3.experiments.dram.options import PATTERNS, REFRESH, DramOptions, PatternName
from t3.library.memories import dram as serve

from .completion import words
from .options import SystemOption, choice, integer_option, option

__all__ = ["dram"]


def dram(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar=f"[{'|'.join(PATTERNS)}]",
            help="Access pattern.",
            autocompletion=words(PATTERNS),
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        option(
            "Trace file in place of a pattern; each line has R, W or U and a byte address.", "FILE"
        ),
    ] = None,
    system: SystemOption = "asplos24",
    ratio: Annotated[str, option("Ratio of reads to writes in a mix.", "R:W")] = DramOptions.ratio,
    offset: Annotated[
        int,
        integer_option("Bytes from the bank of a mix's reads to the first of its writes.", "BYTES"),
    ] = DramOptions.offset,
    stride: Annotated[
        int, integer_option("Distance between consecutive accesses, in atoms.", "ATOMS")
    ] = DramOptions.stride,
    requests: Annotated[
        int, integer_option("Number of requests of a pattern.")
    ] = DramOptions.requests,
    offered: Annotated[
        int, integer_option("Largest number of requests accepted in one clock.")
    ] = DramOptions.offered,
    queue: Annotated[
        str | None,
        option("Depth of one queue, or of a read queue and a write queue.", "N|R+W"),
    ] = None,
    refresh: Annotated[
        Refresh | None, choice("Refresh scheme.", REFRESH, show_default="the system's")
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
    name: PatternName | None = pattern  # type: ignore[assignment]  # checked with the others
    result = serve(
        name,
        trace=trace,
        system=system,
        ratio=ratio,
        offset=offset,
        stride=stride,
        requests=requests,
        offered=offered,
        queue=queue,
        refresh=refresh,
        address_map=address_map,
    )
    if as_json:
        sys.stdout.write(json_text(result.as_dict()))
    else:
        from t3.experiments.dram.table import print_served

        print_served(result.served, result.system, result.title)
