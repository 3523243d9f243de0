"""Service of the pattern or trace that the options name."""

from typing import Any

from sysmodel.config.system import System
from sysmodel.engine.codes import READ, UPDATE, WRITE
from sysmodel.lib.errors import InputError

from .memory import memory_channel
from .options import DramOptions
from .patterns import Pattern, mixed, random_rows, strided
from .serve import Served, serve
from .trace import read_trace

__all__ = ["served"]

_ACCESSES = {"read": READ, "write": WRITE, "update": UPDATE}


def served(options: DramOptions, system: System) -> Served:
    """Serve a pattern or a trace with one HBM channel of a system.

    Raises
    ------
    InputError
        The options do not fit the system, or the trace cannot be read.
    """
    changes: dict[str, Any] = {"refresh": options.refresh, "address_map": options.address_map}
    queue = None if options.queue is None else str(options.queue)
    timing, own_map = memory_channel(system, queue=queue, **changes)
    accesses = _accesses(options, system.dram.atom_bytes)
    return serve(timing, accesses, address_map=own_map, offered_per_cycle=options.offered)


def _accesses(options: DramOptions, atom_bytes: int) -> Pattern:
    if options.trace is not None:
        return read_trace(options.trace, atom_bytes)
    name, requests = str(options.pattern), options.requests
    if name in _ACCESSES:
        return strided(_ACCESSES[name], options.stride, requests=requests)
    if name.startswith("random"):
        return random_rows(_ACCESSES[name.removeprefix("random-")], requests=requests)
    reads, writes = map(int, options.ratio.split(":"))
    try:
        return mixed(
            reads, writes, offset_bytes=options.offset, atom_bytes=atom_bytes, requests=requests
        )
    except ValueError as error:
        raise InputError("offset", str(error)) from error
