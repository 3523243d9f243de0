"""Golden tables of a context behind the ports of the RTL tables."""

from collections.abc import Mapping

from rtl.registers.map import CONTEXT, load
from rtl.registers.map_table import Table
from sysmodel.engine.golden import GoldenState
from sysmodel.engine.golden.dma.copies import pop_copy
from sysmodel.engine.golden.registers.tables import clear_tables
from sysmodel.engine.golden.registers.write import commit
from tb.map_table.staged import STAGED

__all__ = ["stage", "step_unit"]


def stage(state: GoldenState, staged: Mapping[str, int]) -> None:
    """Set every staged field of the first context's registers."""
    registers = state.registers[CONTEXT]["contents"]
    for name, value in staged.items():
        word, low, mask = STAGED[name]
        registers[word] = registers[word] & ~(mask << low) | value << low


def step_unit(
    state: GoldenState,
    table: Table,
    *,
    locked: bool,
    aborting: bool,
    foreign: bool,
    fixed: bool,
    mixed: bool,
    in_use: bool,
    popped: bool,
    **fields: int,
) -> int:
    """Advance the tables and the queue of copies of the first context by one cycle, with a commit
    of these fields; return its configuration error."""
    queue = state.contexts[0]["copies"]
    copies = int(queue["copies_level"])
    if popped:
        pop_copy(queue)
    if table == Table.NONE:
        return 0
    if table == Table.CLEAR:
        clear_tables(state, 0)
        return 0
    register = load()["COPY" if table == Table.COPY else f"{table.name}_COMMIT"]
    named = {field.name: fields[field.name] for field in register.fields if field.name in fields}
    word, value = register.offset // 4, register.pack(**named)
    return commit(state, 0, word, value, copies, locked, aborting, foreign, fixed, mixed, in_use)
