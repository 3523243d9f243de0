"""State of the golden model for one block, and the payloads at the block's ports."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset
from sysmodel.engine.golden.registers.errors import describe_error
from sysmodel.engine.ports import output_words
from tb.payload import flatten

__all__ = [
    "ARBITER_INPUTS",
    "EVERY_PACKET",
    "error_report",
    "golden_state",
    "maps",
    "put",
    "set_arbiter",
    "set_arbiter_inputs",
    "set_launch_configuration",
    "set_maps",
    "set_view",
    "words",
]


def golden_state(p: T3Parameters) -> GoldenState:
    """Return the state after reset."""
    state = new_state(p)
    reset(state, np.zeros(output_words(p), np.uint64))
    return state


def words(record: np.void | np.ndarray) -> list[int]:
    """Return the fields of a record or of an array of records, in the order of
    :class:`~tb.payload.Fields`: those of a nested record in its place."""
    return np.frombuffer(record.tobytes(), np.uint64).tolist()


def put(record: np.void, values: Mapping[str, Any]) -> None:
    """Set the fields of a record to those of a payload; absent ones are 0."""
    flat = flatten(values)
    for name in record.dtype.names:
        (length,) = record.dtype[name].shape or (0,)
        if length:
            record[name] = [flat.get(f"{name}_{index}", 0) for index in range(length)]
        else:
            record[name] = flat.get(name, 0)


def error_report(error: int, place: int = 0) -> list[int]:
    """Return the fields of ``ErrorReport`` of an error of the model, and its place."""
    return [error & 0xFF, *map(int, describe_error(error, place))]


def maps(state: GoldenState, context: int = 0, prefix: str = "") -> list[int]:
    """Return the fields of all tables of a context, in the order of ``MapConfiguration``.

    Parameters
    ----------
    prefix : str
        ``"programmed_"`` for the tables of the next launch.
    """
    tables = (getattr(state, f"{prefix}{name}") for name in ("regions", "ranges", "commands"))
    return [word for table in tables for word in words(table[context])]


def set_maps(
    state: GoldenState, maps: Mapping[str, Sequence[Mapping[str, Any]]], context: int = 0
) -> None:
    """Set the tables of a context to the fields of ``MapConfiguration``; absent ones are 0."""
    for name in ("regions", "ranges", "commands"):
        entries = maps.get(name, ())
        for index, record in enumerate(getattr(state, name)[context]):
            put(record, entries[index] if index < len(entries) else {})


def set_launch_configuration(
    state: GoldenState, launch_configuration: Mapping[str, int], context: int = 0
) -> None:
    """Set those fields of a context's ``LaunchConfiguration`` that are given."""
    for name, value in launch_configuration.items():
        state.contexts[context]["launch"][name] = value


EVERY_PACKET = {"stores": (1 << 32) - 1, "updates": (1 << 32) - 1, "ops": 15, "dtypes": 15}
"""Part of a view: the context takes packets from any GPU."""


def set_view(state: GoldenState, view: Mapping[str, Any], context: int = 0) -> None:
    """Set the signals of a context to all channels, with the fields of ``ContextView``."""
    own = state.contexts[context]
    control, window, former = own["control"], own["window"], view.get("former", {})
    set_maps(state, view.get("maps", {}), context)
    set_launch_configuration(state, view.get("launch_configuration", {}), context)
    put(own["address_space"], view.get("address_space", {}))
    put(own["inbound"], view.get("inbound", {}))
    window["oldest"], window["credit_limit"] = view.get("oldest", 0), view.get("credit_limit", 0)
    control["aborting"] = own["aborted"] = view.get("aborting", 0)
    control["open"] = view.get("launched", 0)
    control["former_valid"] = former.get("valid", 0)
    control["former_generation"] = former.get("generation", 0)


def set_arbiter(state: GoldenState, arbiter: Mapping[str, Any]) -> None:
    """Set the fields of :func:`rtl.interface.configuration.ArbiterConfiguration`; absent ones are
    0."""
    put(state.config["arbiter"], arbiter)


ARBITER_INPUTS = dict(
    active="kernel_active",
    relaxed="all_relaxed",
    critical="any_critical",
    congested="any_congested",
)
"""Signals of the criticality units to the arbiters, with the model's fields."""


def set_arbiter_inputs(state: GoldenState, on: Collection[str]) -> None:
    """Set the signals of :data:`ARBITER_INPUTS` that are ``on``, and clear the others."""
    for name, field in ARBITER_INPUTS.items():
        state.gpu["arbiter_inputs"][field] = name in on
