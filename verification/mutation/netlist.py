"""Netlist of a block with many mutants in it; an input selects one of them."""

import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from rtl.export.back_end import ports_of

from .bits import first_free_bit
from .clocks import stopped
from .yosys import run_yosys

__all__ = ["CLOCK_ENABLE", "FLAT", "SELECT", "Mutant", "flat_verilog", "mutate"]

CLOCK_ENABLE = "clock_enable"
"""Clock-enable output of a clock-gated block."""

SELECT = "mutsel"
"""Input that selects a mutant by its number; 0 selects the unchanged block."""
FLAT = "flat.json"
"""File with the netlist before mutation, in the JSON format of Yosys."""
_ROOT = Path(__file__).parents[2]
_OPTION = re.compile(r"-(\S+) (\S+)")
_SOURCES = re.compile(r"^ *attribute \\src .*$", re.MULTILINE)
_LIST = "mutants.txt"
# Resets of memory read ports: no memory here uses them, and Verilog cannot express them.
_RESETS = ("RD_ARST", "RD_SRST")
_CLOCKED = ("RD_CLK", "RD_EN")  # used by synchronous read ports only
_MORE = 8  # additional mutants, which replace mutants of unused ports
_BUFFER = "$read"


@dataclass(frozen=True)
class Mutant:
    """Mutant: one small defect of a netlist.

    Attributes
    ----------
    number : int
        Number of the mutant, from 1.
    mode : str
        Defect of the bit: ``inv``, ``const0``, ``const1``, or ``cnot0`` and ``cnot1`` (inverted
        while another bit of the port is 0 or 1).
    bit : int
        Bit of the port.
    sources : tuple of str
        Source files and lines of the cell.
    command : str
        Arguments of the ``mutate`` command of Yosys.
    """

    number: int
    mode: str
    cell: str
    port: str
    bit: int
    sources: tuple[str, ...]
    command: str

    @property
    def place(self) -> str:
        """Place of the defect in readable form."""
        return f"{self.cell}.{self.port}[{self.bit}]"


def _mutant(number: int, line: str) -> Mutant:
    arguments = line.removeprefix("mutate ")
    options = _OPTION.findall(arguments)
    values = dict(options)
    sources = [value for option, value in options if option == "src"]
    return Mutant(
        number=number,
        mode=values["mode"],
        cell=values["cell"],
        port=values["port"],
        bit=int(values["portbit"]),
        sources=tuple(source for source in sources if not source.startswith("/")),
        command=arguments,
    )


def _local(sources: re.Match[str]) -> str:
    """Name source files relative to the project. ``mutate`` accepts no blank in another path."""
    indent, attribute, paths = sources[0].partition("attribute \\src ")
    return indent + attribute + paths.replace(f"{_ROOT}/", "").replace(" ", "_")


def _one_name(module: dict[str, Any]) -> None:
    """Keep one name for each net, the deepest in the hierarchy, and the names of the ports.

    Otherwise a register could be named after a wire that it drives.
    """
    names: dict[tuple, str] = {}
    for name, net in module["netnames"].items():
        bits = tuple(net["bits"])
        if bits not in names or name.count(".") > names[bits].count("."):
            names[bits] = name
    kept = {*names.values(), *module["ports"]}
    module["netnames"] = {name: net for name, net in module["netnames"].items() if name in kept}


def _port_registers(module: dict[str, Any]) -> set[str]:
    """Registers that drive output ports and would be named after them."""
    ports = module["ports"].values()
    outputs = {bit for port in ports if port["direction"] == "output" for bit in port["bits"]}
    cells = module["cells"].items()
    return {label for label, cell in cells if outputs & {*cell["connections"].get("Q", ())}}


def _keep_registers(module: dict[str, Any], cells: set[str]) -> None:
    """Insert a buffer between these registers and their readers.

    The buffer preserves the name of the register, by which a bench may access it, when the register
    drives a port or when its output has the defect.
    """
    fresh = first_free_bit(module)
    behind: dict[int | str, int] = {}
    buffers = {}
    for label in cells:
        bits = module["cells"][label]["connections"]["Q"]
        new = list(range(fresh, fresh + len(bits)))
        fresh += len(bits)
        behind |= dict(zip(bits, new, strict=True))
        widths = {"A_SIGNED": "0", "A_WIDTH": f"{len(bits):032b}", "Y_WIDTH": f"{len(bits):032b}"}
        buffers[label + _BUFFER] = {
            "type": "$pos",
            "parameters": widths,
            "attributes": module["cells"][label]["attributes"],
            "port_directions": {"A": "input", "Y": "output"},
            "connections": {"A": bits, "Y": new},
        }
    for cell in module["cells"].values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                cell["connections"][port] = [behind.get(bit, bit) for bit in bits]
    for name, port in module["ports"].items():
        read = [behind.get(bit, bit) for bit in port["bits"]]
        if port["direction"] == "output" and read != port["bits"]:
            port["bits"] = read
            # The port is no longer a register and has no initial value.
            net = module["netnames"].pop(name)
            if all(other["bits"] != net["bits"] for other in module["netnames"].values()):
                module["netnames"][name + _BUFFER] = net
    module["cells"] |= buffers


def _is_used(cell: dict[str, Any], mutant: Mutant) -> bool:
    if mutant.port in _CLOCKED:
        return cell["parameters"]["RD_CLK_ENABLE"][::-1][mutant.bit] == "1"
    return mutant.port not in _RESETS


def flat_verilog(text: str, name: str, folder: Path) -> str:
    """Convert RTLIL to a flat netlist in Verilog, in which a bench finds every register.

    Parameters
    ----------
    text : str
        Module and all that it needs, as RTLIL.
    name : str
        Name of the module.
    folder : Path
        Folder for intermediate files.
    """
    (folder / "block.il").write_text(_SOURCES.sub(_local, text), encoding="utf-8")
    run_yosys(folder, f"read_rtlil block.il\nprep -top {name} -flatten\nwrite_json {FLAT}\n")
    flat = folder / FLAT
    netlist = json.loads(flat.read_text(encoding="utf-8"))
    module = netlist["modules"][name]
    registers = _port_registers(module)
    _one_name(module)
    _keep_registers(module, registers)
    flat.write_text(json.dumps(netlist), encoding="utf-8")
    run_yosys(folder, f"read_json {FLAT}\nhierarchy -top {name}\nwrite_verilog -noattr flat.v\n")
    return (folder / "flat.v").read_text(encoding="utf-8")


def mutate(
    component: Component, name: str, *, count: int, seed: int, folder: Path
) -> tuple[list[Mutant], str]:
    """Draw mutants of a component whose clock-gated blocks stop while their clock is disabled.

    Parameters
    ----------
    name : str
        Name of the module.
    count, seed : int
        Number of mutants, drawn evenly over the netlist, and the seed of the draw.
    folder : Path
        Folder for the flat netlist, ``FLAT``.

    Returns
    -------
    tuple of list of Mutant and str
        Mutants, and Verilog of the flat netlist with all of them and the input ``SELECT``.
    """
    ports = ports_of(component)
    text = _SOURCES.sub(_local, rtlil.convert(stopped(component), name=name, ports=ports))
    (folder / "block.il").write_text(text, encoding="utf-8")
    width = count.bit_length()
    run_yosys(
        folder,
        f"""
        read_rtlil block.il
        prep -top {name} -flatten
        write_json {FLAT}
        mutate -list {count + count // 4 + _MORE} -seed {seed} -o {_LIST}
        """,
    )
    flat, listed = folder / FLAT, folder / _LIST
    netlist = json.loads(flat.read_text(encoding="utf-8"))
    mutants = [
        _mutant(number, line)
        for number, line in enumerate(listed.read_text(encoding="utf-8").splitlines(), 1)
    ]
    cells = netlist["modules"][name]["cells"]
    possible = [mutant for mutant in mutants if _is_used(cells[mutant.cell], mutant)]
    chosen = random.Random(seed).sample(possible, min(count, len(possible)))
    mutants = [replace(mutant, number=number) for number, mutant in enumerate(chosen, 1)]
    module = netlist["modules"][name]
    registers = {mutant.cell for mutant in mutants if mutant.port == "Q"} | _port_registers(module)
    _one_name(module)
    _keep_registers(module, registers)
    flat.write_text(json.dumps(netlist), encoding="utf-8")
    mutants = [_at_buffer(mutant) if mutant.port == "Q" else mutant for mutant in mutants]
    commands = [
        f"mutate -ctrl {SELECT} {width} {mutant.number} {mutant.command}" for mutant in mutants
    ]
    listed.write_text("\n".join(commands) + "\n", encoding="utf-8")
    run_yosys(
        folder,
        f"""
        read_json {FLAT}
        hierarchy -top {name}
        script {_LIST}
        write_verilog -noattr mutants.v
        """,
    )
    return mutants, (folder / "mutants.v").read_text(encoding="utf-8")


def _at_buffer(mutant: Mutant) -> Mutant:
    """Move a defect from a register's output to the buffer behind the register."""
    command = mutant.command.replace(
        f"-cell {mutant.cell} -port Q ", f"-cell {mutant.cell}{_BUFFER} -port A "
    )
    assert command != mutant.command
    return replace(mutant, command=command)
