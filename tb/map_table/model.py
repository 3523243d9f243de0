"""Golden tables of a context behind the ports of the RTL's."""

from collections.abc import Mapping

from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT
from rtl.registers.map_table import Table
from sysmodel.engine.golden.dma.copies import first_copy, pop_copy
from sysmodel.engine.golden.registers.tables import (
    commit_command,
    commit_range,
    commit_region,
    start_copy,
)
from sysmodel.engine.golden.registers.words import put_field
from tb.golden import golden_state, maps, words
from tb.map_table.staged import STAGED

__all__ = ["Model"]


class Model:
    """The tables, the staged registers and the queue of copies."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self._queue = self.state.contexts[0]["copies"]

    copies = property(lambda self: int(self._queue["copies_level"]))

    def stage(self, staged: Mapping[str, int]) -> None:
        """Set every staged field of the registers."""
        registers = self.state.registers[CONTEXT]["contents"]
        for name, value in staged.items():
            word, low, mask = STAGED[name]
            registers[word] &= ~(mask << low)
            registers[word] |= put_field((word, low, mask), value)

    def maps(self) -> list[int]:
        """Return the fields of all tables, in order."""
        return maps(self.state, prefix="programmed_")

    def copy(self) -> list[int]:
        """Return the oldest copy."""
        return words(first_copy(self._queue))

    def step(
        self, table: Table, index: int, enable: int, *, locked: bool, aborting: bool, popped: bool
    ) -> int:
        """Move on by one cycle; return the configuration error of the commit in it."""
        state, copies = self.state, self.copies
        if popped:
            pop_copy(self._queue)
        if table == Table.REGION:
            return int(commit_region(state, 0, index, enable, locked))
        if table == Table.RANGE:
            return int(commit_range(state, 0, index, enable, locked))
        if table == Table.COMMAND:
            return int(commit_command(state, 0, index, locked))
        if table == Table.COPY:
            return int(start_copy(state, 0, index, copies, aborting))
        return 0
