"""A state of the golden model beside a block, with the tables that the block's ports have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden import GoldenState, new_state, reset
from sysmodel.engine.golden.state import COMMAND, RANGE, REGION, C
from sysmodel.engine.ports import output_words
from tb.payload import flatten

__all__ = ["golden_state", "set_arbiter", "set_maps", "set_launch_configuration"]

_TABLES = {"regions": REGION, "ranges": RANGE, "commands": COMMAND}


def golden_state(p: T3Parameters) -> GoldenState:
    """The state after reset."""
    state = new_state(p)
    reset(state, np.zeros(output_words(p), np.uint64))
    return state


def set_maps(state: GoldenState, maps: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Tables, with the fields of ``MapConfiguration``; what is absent is 0."""
    for name, record in _TABLES.items():
        at = state.config[getattr(C, f"at_{name}")]
        for index in range(state.config[getattr(C, name)]):
            entries = maps.get(name, ())
            fields = flatten(entries[index]) if index < len(entries) else {}
            start = at + index * len(record)
            words = [fields.get(field, 0) for field in record._fields]
            state.config[start : start + len(record)] = words


def set_launch_configuration(state: GoldenState, launch_configuration: Mapping[str, int]) -> None:
    """Fields of ``LaunchConfiguration``, those that are given."""
    for name, value in launch_configuration.items():
        state.config[getattr(C, name)] = value


def set_arbiter(state: GoldenState, arbiter: Mapping[str, Any]) -> None:
    """Fields of :func:`rtl.interface.configuration.ArbiterConfiguration`, those that are given."""
    for name, value in flatten(arbiter).items():
        # `cuts_0` of the layout is `cut0` of the model.
        state.config[getattr(C, name.replace("s_", ""))] = value
