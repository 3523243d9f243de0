"""Which register field programs which part of the configuration."""

from collections.abc import Iterator, Mapping

from amaranth.hdl import Value

from .map import Register

__all__ = ["ARBITER", "PRODUCTION", "STAGING", "leaves", "resets"]

# Where software's fields go: shaped like the layouts, with a register and a field at each leaf.
PRODUCTION = {
    "first_workgroup": ("FIRST_WORKGROUP", "workgroup"),
    "workgroups": ("WORKGROUPS", "count"),
    "tracked_first": ("TRACKED_FIRST", "place"),
    "tracked_end": ("TRACKED_END", "place"),
    "shift": ("SHIFT", "places"),
    "window": ("WINDOW", "workgroups"),
    "command_window": ("COMMAND_WINDOW", "workgroups"),
    "updates_per_sector": ("TRACKING", "updates_per_sector"),
    "timeout": ("TIMEOUT", "cycles"),
    "epoch": ("TRACKING", "epoch"),
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
STAGING = {
    "window": {
        "base": [("WINDOW_BASE_LO", "bytes"), ("WINDOW_BASE_HI", "bytes")],
        "limit": [("WINDOW_LIMIT_LO", "bytes"), ("WINDOW_LIMIT_HI", "bytes")],
        "context": ("WINDOW_CONTEXT", "context"),
    },
    "range": {
        "window": ("RANGE_ACTION", "window"),
        "first": ("RANGE_PLACES", "first"),
        "last": ("RANGE_PLACES", "last"),
        "action": ("RANGE_ACTION", "action"),
        "command": ("RANGE_ACTION", "command"),
    },
    "command": {
        **{
            name: ("COMMAND_TRANSFER", name)
            for name in (
                "kind",
                "op",
                "dtype",
                "context",
                "granularity",
                "group_log2",
                "wave_run_log2",
                "waves_minor_log2",
            )
        },
        "rows": ("COMMAND_ROWS", "rows"),
        "rows_edge": ("COMMAND_ROWS", "rows_edge"),
        "run": ("COMMAND_RUN", "run"),
        "run_edge": ("COMMAND_RUN", "run_edge"),
        "pitch": ("COMMAND_PITCH", "pitch"),
        "wave_rows": ("COMMAND_WAVES", "wave_rows"),
        "waves": [("COMMAND_WAVES", f"waves{index}") for index in range(4)],
        "offset": [("COMMAND_OFFSET_LO", "bytes"), ("COMMAND_OFFSET_HI", "bytes")],
    },
    "copy": {"start": [("COPY_START_LO", "bytes"), ("COPY_START_HI", "bytes")]},
}


def leaves(where, view) -> Iterator[tuple[tuple[str, str], Value]]:
    """Each register field with the part of the view that it goes to."""
    if isinstance(where, tuple):
        yield where, Value.cast(view)
    else:
        for key, inner in where.items() if isinstance(where, dict) else enumerate(where):
            yield from leaves(inner, view[key])


def resets(where, registers: Mapping[str, Register]):
    """Reset values, shaped as the layout wants its initial value."""
    if isinstance(where, tuple):
        register, field = where
        return registers[register][field].reset
    if isinstance(where, dict):
        return {key: resets(inner, registers) for key, inner in where.items()}
    return [resets(inner, registers) for inner in where]
