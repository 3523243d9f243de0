"""Mutants that no test can notice, because they behave like the block."""

import json
from collections.abc import Sequence
from pathlib import Path

from .bounds import add_bounds, proved_bounds
from .netlist import FLAT, Mutant
from .renumbered import renumbered_rows
from .shadow import DIFFERS, shadowed
from .yosys import PROVED, run_yosys

__all__ = ["HISTORY", "equivalent"]

HISTORY = 6
"""Cycles of a proof: in the last one the mutant is the same."""
_TIMEOUT_S = 60
_TOP = "shadowed"


def equivalent(mutants: Sequence[Mutant], name: str, folder: Path) -> set[int]:
    """Numbers of the mutants that are proved to behave like the block.

    The mutant has the block's state, then both take the same step: the same outputs but for
    ``awake``, and the same next values of all registers and inputs of all memories, whose rows may
    be in another order (:mod:`.renumbered`). That is shown for every input and for every state that
    has ``HISTORY - 1`` cycles before it, as all have after a reset of as many, and in which no
    queue holds more than it can (:mod:`.bounds`).

    Parameters
    ----------
    mutants : sequence of Mutant
    name : str
        Of the netlist's module.
    folder : Path
        With the netlist that :func:`~.netlist.mutate` leaves.

    Raises
    ------
    RuntimeError
        If Yosys fails.
    """
    if not mutants:
        return set()
    # Also the block as it is goes through Yosys, which names things anew.
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
        both = shadowed(block, _module(path, name), renumbered_rows(block, mutant))
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
    # Of the longer one the first cycles only make the state.
    for cycles in (1, HISTORY):
        script = f"{prepare}\n{prove} -seq {cycles} -prove-skip {cycles - 1} {_TOP}"
        if PROVED in run_yosys(path.parent, script):
            return True
    return False
