"""Mapping from register fields to the configuration that they program."""

from collections.abc import Iterator, Mapping

from amaranth.hdl import Value

from .map import Register

__all__ = [
    "ADDRESS_SPACE",
    "ARBITER",
    "COMMITS",
    "INBOUND",
    "LAUNCH_CONFIGURATION",
    "STAGING",
    "is_reported",
    "leaves",
    "resets",
]

# Each mapping is shaped like its layout, with a (register, field) pair at each leaf.
LAUNCH_CONFIGURATION = {
    "workgroups": ("WORKGROUPS", "count"),
    "tracked_first": ("TRACKED_FIRST", "dispatch_index"),
    "tracked_end": ("TRACKED_END", "dispatch_index"),
    "to_send": ("TO_SEND", "count"),
    "credit_window": ("CREDIT_WINDOW", "workgroups"),
    "command_window": ("COMMAND_WINDOW", "workgroups"),
    "timeout": ("TIMEOUT", "ticks"),
    "generation": ("TRACKING", "generation"),
    "accumulate": ("TRACKING", "accumulate"),
    "reports_steps": ("PROGRESS", "enable"),
    "report_log2": ("PROGRESS", "log2"),
}
ARBITER = {
    "policy": ("ARBITER", "policy"),
    "automatic": ("ARBITER", "automatic"),
    "threshold": ("ARBITER", "threshold"),
    "starvation_limit": ("STARVATION", "cycles"),
    "measure_log2": ("MEASURE", "log2"),
    "cuts": [("CUTS", f"cut{index}") for index in range(3)],
    "levels": [("LEVELS", f"level{index}") for index in range(3)],
}
ADDRESS_SPACE = {
    "enable": ("ADDRESS_SPACE", "enable"),
    "local": ("ADDRESS_SPACE", "local"),
}
INBOUND = {
    "ops": ("INBOUND_KINDS", "ops"),
    "dtypes": ("INBOUND_KINDS", "dtypes"),
}
STAGING = {
    "region": {
        "base": [("REGION_BASE_LO", "bytes"), ("REGION_BASE_HI", "bytes")],
        "limit": [("REGION_LIMIT_LO", "bytes"), ("REGION_LIMIT_HI", "bytes")],
    },
    "range": {
        "region": ("RANGE_ACTION", "region"),
        "first": ("RANGE_DISPATCH_INDICES", "first"),
        "last": ("RANGE_DISPATCH_INDICES", "last"),
        "action": ("RANGE_ACTION", "action"),
        "command": ("RANGE_ACTION", "command"),
        "shares": ("RANGE_ACTION", "shares"),
        "peers": ("RANGE_PEERS", "peers"),
        "slot_offset": ("RANGE_PEERS", "slot_offset"),
        "gate": {
            "enable": ("RANGE_GATE", "enable"),
            "context": ("RANGE_GATE", "context"),
            "generation": ("RANGE_GATE", "generation"),
            "slot": ("RANGE_GATE", "slot"),
            "workgroups": ("RANGE_BAND", "workgroups"),
            "slots": ("RANGE_BAND", "slots"),
        },
    },
    "command": {
        **{
            name: ("COMMAND_TRANSFER", name)
            for name in (
                "kind",
                "marks",
                "op",
                "dtype",
                "granularity",
                "group_log2",
                "wave_inner_log2",
                "waves_inner_log2",
            )
        },
        "outer_extent": ("COMMAND_OUTER", "outer_extent"),
        "outer_extent_edge": ("COMMAND_OUTER", "outer_extent_edge"),
        "inner_extent": ("COMMAND_INNER", "inner_extent"),
        "inner_extent_edge": ("COMMAND_INNER", "inner_extent_edge"),
        "stride": ("COMMAND_STRIDE", "stride"),
        "region": ("COMMAND_STRIDE", "region"),
        "wave_outer_extent": ("COMMAND_WAVES", "wave_outer_extent"),
        "waves": [("COMMAND_WAVES", f"waves{index}") for index in range(4)],
        "offset": [("COMMAND_OFFSET_LO", "bytes"), ("COMMAND_OFFSET_HI", "bytes")],
    },
    "peer": {
        name: ("PEER", name)
        for name in (
            "gpu",
            "rank",
            "space",
            "sends_stores",
            "sends_updates",
            "takes_stores",
            "takes_updates",
        )
    },
    "copy": {"start": [("COPY_START_LO", "bytes"), ("COPY_START_HI", "bytes")]},
}


COMMITS = ("REGION_COMMIT", "RANGE_COMMIT", "COMMAND_COMMIT", "COPY", "PEER_COMMIT")
"""Registers whose writes commit an entry of a table, or start a copy."""
_REPORTED = {*COMMITS, *(register for register, _ in LAUNCH_CONFIGURATION.values())}


def is_reported(register: Register, launches: int | Value) -> int | Value:
    """Test whether a page reports the result of a write in its status, since the write may be
    refused.

    Parameters
    ----------
    launches : int or Value
        CONTROL.launch of the write.
    """
    if register.name == "CONTROL":
        return launches
    return int(bool(register.lock) or register.name in _REPORTED)


def leaves(where, view) -> Iterator[tuple[tuple[str, str], Value]]:
    """Iterate over the register fields of a mapping, each with its part of the view."""
    if isinstance(where, tuple):
        yield where, Value.cast(view)
    else:
        for key, inner in where.items() if isinstance(where, dict) else enumerate(where):
            yield from leaves(inner, view[key])


def resets(where, registers: Mapping[str, Register]):
    """Collect the reset values of a mapping in the shape of the layout's initial value."""
    if isinstance(where, tuple):
        register, field = where
        return registers[register][field].reset
    if isinstance(where, dict):
        return {key: resets(inner, registers) for key, inner in where.items()}
    return [resets(inner, registers) for inner in where]
