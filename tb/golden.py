"""State of the golden model for a single block, and the payloads at the block's ports."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rtl.interface.encodings import InjectTarget
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.golden import GoldenState, new_state, reset
from sysmodel.engine.golden.channel.queues import Q, front, has
from sysmodel.engine.golden.model import end_shared
from sysmodel.engine.golden.registers.errors import describe_error, error, place_of
from sysmodel.engine.golden.registers.injection import arm
from sysmodel.engine.ports import output_words
from tb.payload import flatten

__all__ = [
    "EVERY_KIND",
    "SIGNALS",
    "arm_bit_errors",
    "bits",
    "complement",
    "end_cycle",
    "error_report",
    "error_words",
    "get_ports",
    "golden_state",
    "maps",
    "offered",
    "oldest",
    "payload",
    "peer",
    "put",
    "set_arbiter",
    "set_arbiter_inputs",
    "set_launch_configuration",
    "set_maps",
    "set_ports",
    "set_view",
    "slots_of",
    "strobe_scrubber",
    "wavefronts_of",
    "words",
]


def golden_state(p: T3Parameters) -> GoldenState:
    """Return the state after reset."""
    state = new_state(p)
    reset(state, np.zeros(output_words(p), np.uint64))
    return state


def words(record: np.void | np.ndarray) -> list[int]:
    """Return the fields of a record or of an array of records, in the order of
    :class:`~tb.payload.Fields`, with nested records flattened in place.
    """
    return np.frombuffer(record.tobytes(), np.uint64).tolist()


def bits(flags: Iterable[object]) -> int:
    """Return a word with a bit for each flag."""
    return sum(bool(flag) << index for index, flag in enumerate(flags))


def complement(state: GoldenState, word: int) -> int:
    """Return a word with a bit for each context whose bit is 0 in this one."""
    return ~int(word) & (1 << len(state.contexts)) - 1


def offered(queue: np.void, field: str) -> list[int] | None:
    """Return the payload that a queue offers, from the field that holds its entries; or None."""
    return words(queue[field][queue[f"{field}_head"]]) if queue[f"{field}_level"] else None


def oldest(channel: np.void, queue: str) -> np.void | None:
    """Return the oldest record of a channel's queue, or None."""
    number = getattr(Q, queue)
    if not has(channel["queued"], number):
        return None
    return channel[queue][front(channel["heads"], number)]


def payload(kind: np.dtype, values: Mapping[str, Any] | None) -> np.void:
    """Return a record with the fields of a payload; absent ones are 0."""
    record = np.zeros(1, kind)[0]
    put(record, values or {})
    return record


def put(record: np.void, values: Mapping[str, Any]) -> None:
    """Set the fields of a record from a payload; absent fields become 0."""
    flat = flatten(values)
    for name in record.dtype.names:
        (length,) = record.dtype[name].shape or (0,)
        if record.dtype[name].names:
            put(record[name], values.get(name, {}))
        elif length:
            record[name] = [flat.get(f"{name}_{index}", 0) for index in range(length)]
        else:
            record[name] = flat.get(name, 0)


def error_report(failure: int, place: int = 0) -> list[int]:
    """Return the fields of ``ErrorReport`` of an error of the model, and its place."""
    return [failure & 0xFF, *map(int, describe_error(failure, place))]


def error_words(failure: Mapping[str, int] | None) -> tuple[int, int]:
    """Return an error of the model, and its place, with these fields of ``ErrorReport``; or 0."""
    if not failure:
        return 0, 0
    report = (failure[name] for name in ("code", "owner", "dispatch_index", "wavefront"))
    place = (failure[name] for name in ("atom", "source", "channel", "unowned"))
    return error(*report), place_of(*place)


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
    """Set the given fields of a context's ``LaunchConfiguration``."""
    for name, value in launch_configuration.items():
        state.contexts[context]["launch"][name] = value


EVERY_KIND = {"ops": 15, "dtypes": 15}
"""Part of a view: the context accepts updates of every operation and every type."""
_KINDS = ("sends_stores", "sends_updates", "takes_stores", "takes_updates")


def peer(**fields: int) -> dict[str, int]:
    """Return an enabled peer that sends and takes every kind of packet, with these fields."""
    return {"enable": 1, **dict.fromkeys(_KINDS, 1), **fields}


def set_view(state: GoldenState, view: Mapping[str, Any], context: int = 0) -> None:
    """Set the signals of a context to all channels, with the fields of ``ContextView``."""
    own = state.contexts[context]
    control, window, former = own["control"], own["window"], view.get("former", {})
    set_maps(state, view.get("maps", {}), context)
    bounds = {"workgroups": 0, "tracked_end": 0}
    set_launch_configuration(state, bounds | view.get("launch_configuration", {}), context)
    put(own["address_space"], view.get("address_space", {}))
    put(own["inbound"], view.get("inbound", {}))
    peers = view.get("peers", ())
    for index, record in enumerate(own["peers"]):
        put(record, peers[index] if index < len(peers) else {})
    own["rank"] = view.get("rank", 0)
    window["oldest"], window["credit_limit"] = view.get("oldest", 0), view.get("credit_limit", 0)
    control["aborting"] = own["aborted"] = view.get("aborting", 0)
    control["open"] = view.get("launched", 0)
    bit = 1 << context
    state.gpu["changing"] = state.gpu["changing"] & ~bit | bool(view.get("changes")) << context
    control["former_valid"] = former.get("valid", 0)
    control["former_generation"] = former.get("generation", 0)


def wavefronts_of(maps: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[int]:
    """Return the field ``wavefronts`` of a view with these tables; absent fields are 0."""
    commands = maps["commands"]
    numbers = (entry.get("command", 0) for entry in maps["ranges"])
    return [max(commands[number].get("waves", [0])) for number in numbers]


def slots_of(launch_configuration: Mapping[str, int]) -> int:
    """Return the field ``slots`` of a view with this launch; absent fields are 0."""
    names = ("workgroups", "tracked_end")
    return max(launch_configuration.get(name, 0) for name in names)


def set_arbiter(state: GoldenState, arbiter: Mapping[str, Any]) -> None:
    """Set the fields of :func:`rtl.interface.configuration.ArbiterConfiguration`; absent ones are
    0."""
    put(state.config["arbiter"], arbiter)


SIGNALS = dict(
    active="kernel_active",
    relaxed="all_relaxed",
    critical="any_critical",
    congested="any_congested",
)
"""Signals of the criticality units to the arbiters, with the model's fields."""


def set_arbiter_inputs(state: GoldenState, on: Collection[str]) -> None:
    """Set the signals of :data:`SIGNALS` that are ``on``, and clear the others."""
    for name, field in SIGNALS.items():
        state.gpu["arbiter_inputs"][field] = name in on


def get_ports(outputs: np.ndarray, columns: Any, names: Iterable[str]) -> list[int]:
    """Return outputs of a cycle, in columns of :mod:`sysmodel.engine.ports`."""
    return outputs.view(np.uint64)[[getattr(columns, name) for name in names]].tolist()


def set_ports(inputs: np.ndarray, columns: Any, values: Mapping[str, int]) -> None:
    """Set the inputs of a cycle, in columns of :mod:`sysmodel.engine.ports`; absent ones are 0."""
    inputs[:] = 0
    for name, value in values.items():
        inputs.view(np.uint64)[getattr(columns, name)] = value


def end_cycle(state: GoldenState) -> None:
    """End a cycle of the blocks that belong to no context and no channel."""
    end_shared(state)
    state.gpu["cycle"] += 1


def strobe_scrubber(state: GoldenState, on: bool) -> None:
    """Set the strobe of the scrubber in this cycle."""
    state.gpu["scrubber"]["scrubbing"], state.gpu["scrubber"]["scrub_strobe"] = 1, on


def arm_bit_errors(state: GoldenState, target: InjectTarget, count: int) -> None:
    """Write INJECT, whose strobe is in this cycle: the next word of the memory gets so many bit
    errors."""
    chosen = target if count else InjectTarget.NONE
    value = register_map.load()["INJECT"].pack(target=chosen.value, double=count == 2)
    arm(state.config, state.gpu["injection"], state.registers, value)
