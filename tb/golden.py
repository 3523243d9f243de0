"""A state of the golden model beside a block, with the tables that the block's ports have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset
from sysmodel.engine.golden.errors import describe_error
from sysmodel.engine.ports import output_words
from tb.payload import flatten

__all__ = [
    "EVERY_PACKET",
    "error_report",
    "golden_state",
    "maps",
    "put",
    "set_arbiter",
    "set_launch_configuration",
    "set_maps",
    "set_view",
    "words",
]


def golden_state(p: T3Parameters) -> GoldenState:
    """The state after reset."""
    state = new_state(p)
    reset(state, np.zeros(output_words(p), np.uint64))
    return state


def words(record: np.void | np.ndarray) -> list[int]:
    """The fields of a record or of an array of them, in order, those of nested ones in place.

    That is the order of :class:`~tb.payload.Fields`.
    """
    return np.frombuffer(record.tobytes(), np.uint64).tolist()


def put(record: np.void, values: Mapping[str, Any]) -> None:
    """Give a record the fields of a payload; what is absent is 0."""
    flat = flatten(values)
    for name in record.dtype.names:
        (length,) = record.dtype[name].shape or (0,)
        if length:
            record[name] = [flat.get(f"{name}_{index}", 0) for index in range(length)]
        else:
            record[name] = flat.get(name, 0)


def error_report(error: int, place: int = 0) -> list[int]:
    """The fields of ``ErrorReport`` of an error that a block of the model gives, and where."""
    return [error & 0xFF, *map(int, describe_error(error, place))]


def maps(state: GoldenState, context: int = 0) -> list[int]:
    """The fields of all tables of a context, in the order of ``MapConfiguration``."""
    tables = (state.regions, state.ranges, state.commands)
    return [word for table in tables for word in words(table[context])]


def set_maps(
    state: GoldenState, maps: Mapping[str, Sequence[Mapping[str, Any]]], context: int = 0
) -> None:
    """Tables of a context, with the fields of ``MapConfiguration``; what is absent is 0."""
    for name in ("regions", "ranges", "commands"):
        entries = maps.get(name, ())
        for index, record in enumerate(getattr(state, name)[context]):
            put(record, entries[index] if index < len(entries) else {})


def set_launch_configuration(
    state: GoldenState, launch_configuration: Mapping[str, int], context: int = 0
) -> None:
    """Fields of a context's ``LaunchConfiguration``, those that are given."""
    for name, value in launch_configuration.items():
        state.contexts[context]["launch"][name] = value


EVERY_PACKET = {"stores": (1 << 32) - 1, "updates": (1 << 32) - 1, "ops": 15, "dtypes": 15}
"""Of a view: the context takes packets from anywhere."""


def set_view(state: GoldenState, view: Mapping[str, Any], context: int = 0) -> None:
    """What the channels know of a context, with the fields of ``ContextView``."""
    own = state.contexts[context]
    set_maps(state, view.get("maps", {}), context)
    set_launch_configuration(state, view.get("launch_configuration", {}), context)
    put(own["address_space"], view.get("address_space", {}))
    put(own["inbound"], view.get("inbound", {}))
    own["oldest"], own["credit_limit"] = view.get("oldest", 0), view.get("credit_limit", 0)
    own["aborting"] = own["aborted"] = view.get("aborting", 0)
    own["open"], former = view.get("launched", 0), view.get("former", {})
    own["former_valid"] = former.get("valid", 0)
    own["former_generation"] = former.get("generation", 0)


def set_arbiter(state: GoldenState, arbiter: Mapping[str, Any]) -> None:
    """Fields of :func:`rtl.interface.configuration.ArbiterConfiguration`; what is absent is 0."""
    put(state.config["arbiter"], arbiter)
