"""The golden model's tables behind the ports of the RTL's."""

import re
from collections.abc import Mapping

import numpy as np

from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.map import CONTEXT
from rtl.registers.map_table import Table
from sysmodel.engine.golden.registers import put_field
from sysmodel.engine.golden.state import F
from sysmodel.engine.golden.tables import commit_command, commit_range, commit_region, start_copy
from tb.golden import golden_state, words

__all__ = ["Model"]

_PLAIN = ("RANGE_DISPATCH_INDICES", "RANGE_ACTION", "COMMAND_TRANSFER")
_PLAIN += ("COMMAND_OUTER", "COMMAND_INNER", "COMMAND_STRIDE", "COMMAND_WAVES")
_WIDE = ("REGION_BASE", "REGION_LIMIT", "COMMAND_OFFSET", "COPY_START")


def _staged() -> dict[str, tuple[int, int, int]]:
    """Where the registers have each staged field."""
    registers = register_map.load()
    staged = {}
    for name in _PLAIN:
        for field in registers[name].fields:
            # `waves0` of the register is `waves_0` of the layout.
            key = re.sub(r"(\d)$", r"_\1", field.name) if "WAVES" in name else field.name
            staged[f"{name.partition('_')[0].lower()}_{key}"] = f"{name}_{field.name}"
    for name in _WIDE:
        staged |= {f"{name.lower()}_0": f"{name}_LO_bytes", f"{name.lower()}_1": f"{name}_HI_bytes"}
    return {key: getattr(F, name) for key, name in staged.items()}


class Model:
    """The tables, the staged registers and the queue of copies."""

    fields = _staged()

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)

    def stage(self, staged: Mapping[str, int]) -> None:
        """Put every staged field into its register."""
        registers = self.state.registers[CONTEXT]
        for name, value in staged.items():
            word, low, mask = self.fields[name]
            registers[word]["value"] &= ~(mask << low)
            registers[word]["value"] |= put_field((word, low, mask), value)

    def maps(self) -> list[int]:
        """Fields of all tables, in order."""
        tables = (
            self.state.programmed_regions,
            self.state.programmed_ranges,
            self.state.programmed_commands,
        )
        return [word for table in tables for word in words(table[0])]

    @property
    def copies(self) -> int:
        """Copies that wait."""
        return int(self._own["copies_level"])

    def copy(self) -> list[int]:
        """The first of them."""
        return words(self._own["copies"][self._own["copies_head"]])

    @property
    def _own(self) -> np.void:
        return self.state.contexts[0]

    def step(
        self,
        table: Table,
        index: int,
        enable: int,
        *,
        locked: bool,
        aborting: bool,
        popped: bool,
    ) -> int:
        """One cycle; gives the configuration error of the commit in it."""
        state, copies = self.state, self.copies
        if popped:
            self._own["copies_head"] ^= 1
            self._own["copies_level"] -= 1
        if table == Table.REGION:
            word = put_field(F.REGION_COMMIT_index, index)
            return int(
                commit_region(state, 0, word | put_field(F.REGION_COMMIT_enable, enable), locked)
            )
        if table == Table.RANGE:
            word = put_field(F.RANGE_COMMIT_index, index)
            return int(
                commit_range(state, 0, word | put_field(F.RANGE_COMMIT_enable, enable), locked)
            )
        if table == Table.COMMAND:
            return int(commit_command(state, 0, put_field(F.COMMAND_COMMIT_index, index), locked))
        if table == Table.COPY:
            return int(start_copy(state, 0, put_field(F.COPY_command, index), copies, aborting))
        return 0
