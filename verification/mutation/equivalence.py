"""Equivalent mutants: mutants that no test can notice, because they behave like the block."""

import json
from collections.abc import Sequence
from pathlib import Path

from .bounds import add_bounds, proved_bounds
from .miter import DIFFERS, miter
from .netlist import FLAT, Mutant
from .renumbered import renumbered_rows
from .yosys import PROVED, run_yosys

__all__ = ["HISTORY", "equivalent"]

HISTORY = 6
"""Number of cycles of a proof, which compares the last cycle."""
_TIMEOUT_S = 60
_TOP = "miter"


def equivalent(mutants: Sequence[Mutant], name: str, folder: Path) -> set[int]:
    """Find the mutants that are proved to behave like the block, by number.

    Started from the block's state, such a mutant takes the same step as the block: the outputs
    (except the clock enable), the next values of all registers and the inputs of all memories are
    equal; memory rows may be in another order (:mod:`.renumbered`). The proof covers every input
    and every state that has ``HISTORY - 1`` predecessors, as all states after a reset of that
    length have, and in which no queue holds more entries than it can (:mod:`.bounds`).

    Parameters
    ----------
    name : str
        Name of the module in the netlist.
    folder : Path
        Folder in which :func:`~.netlist.mutate` left the netlist.

    Raises
    ------
    RuntimeError
        If Yosys fails.
    """
    if not mutants:
        return set()
    # Yosys renames nets: the unchanged block takes the same route as its mutants.
    lines = [f"read_json {FLAT}", "design -save flat", "write_json block.json"]
    for mutant in mutants:
        lines += [
            "design -load flat",
            f"mutate {mutant.command}",
            f"write_json mutant{mutant.number}.json",
        ]
    run_yosys(folder, "\n".join(lines))
    block = _module(folder / "block.json", name)
    bounds = proved_bounds(block, folder)
    found = set()
    for mutant in mutants:
        path = folder / f"mutant{mutant.number}.json"
        both = miter(block, _module(path, name), renumbered_rows(block, mutant))
        if bounds:
            add_bounds(block, bounds, both)
        netlist = {"creator": "t3", "modules": {_TOP: both}}
        path.write_text(json.dumps(netlist), encoding="utf-8")
        if _same(path, bounded=bool(bounds)):
            found.add(mutant.number)
    return found


def _module(path: Path, name: str) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))["modules"][name]


def _same(path: Path, *, bounded: bool) -> bool:
    prepare = f"""
        read_json {path.name}
        hierarchy -top {_TOP}
        setundef -zero
        opt -noff -full -share_all
        dffunmap
        opt_clean -purge
    """
    prove = f"sat -timeout {_TIMEOUT_S} -prove {DIFFERS} 0" + " -set bounded 1" * bounded
    # In the longer proof, the first cycles only produce the state.
    for cycles in (1, HISTORY):
        script = f"{prepare}\n{prove} -seq {cycles} -prove-skip {cycles - 1} {_TOP}"
        if PROVED in run_yosys(path.parent, script):
            return True
    return False
