"""Self-checking bench of an export, which needs only a simulator."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rtl.interface.timebase import TICK_CYCLES

from .ports import Port

__all__ = ["self_test", "test_command"]

_READS, _DRAM = "channel__0__reads", "channel__0__dram"

_BENCH = Path(__file__).parent / "texts" / "self_test.sv"
_MOST_CYCLES = 64
_RESET = """\
    rst = 1'b1;
    repeat (4) @(posedge clk);
    #0.1 rst = 1'b0;
    repeat (4) @(posedge clk);
    #0.1;"""
_NO_RESET = """\
    repeat (4) @(posedge clk);
    #0.1;"""


def test_command(name: str, cells: Sequence[str]) -> str:
    """Make the command that builds and runs the bench with Verilator, in the export's folder."""
    sources = " ".join([f"{name}.vlt", f"{name}_test.sv", f"{name}.v", *cells])
    options = (
        f"--binary -CFLAGS -std=c++20 -Wno-fatal --assert -DT3_ASSERT --top-module {name}_test"
    )
    return f"verilator {options} {sources} && obj_dir/V{name}_test"


def self_test(
    name: str,
    about: str,
    ports: Iterable[Port],
    *,
    contexts: int,
    has_reset: bool,
    cells: Sequence[str],
) -> str:
    """Make the bench, a SystemVerilog module ``<name>_test`` that prints PASS or fails.

    Parameters
    ----------
    name, about : str
        Name of the top, and text for the comment at the beginning.
    ports : iterable of Port
        Ports of the top.
    contexts : int
        Number of contexts of the top.
    has_reset : bool
        The top has a port ``rst``.
    cells : sequence of str
        Files of the cells.
    """
    declarations, connections = ["  reg rst = 1'b0;"] if has_reset else [], [".clk(clk)"]
    connections += [".rst(rst)"] if has_reset else []
    for port in ports:
        bits = f"[{port.width - 1}:0] " if port.width > 1 else ""
        if port.direction == "input":
            value = "1" if port.name.endswith("ready") else "0"
            declarations.append(f"  reg {bits}{port.name} = {value};")
        else:
            declarations.append(f"  wire {bits}{port.name};")
        connections.append(f".{port.name}({port.name})")
    return _BENCH.read_text(encoding="utf-8").format(
        about=about,
        name=name,
        prefix=name.upper(),
        command=test_command(name, cells),
        declarations="\n".join(declarations),
        connections=",\n".join(f"    {one}" for one in connections),
        ticks=_ticks(),
        reset=_RESET if has_reset else _NO_RESET,
        contexts=contexts,
        reads=_READS,
        dram=_DRAM,
        most=_MOST_CYCLES,
        tick_cycles=TICK_CYCLES,
    )


def _ticks() -> str:
    return f"""\
  reg [31:0] since_tick = 0;
  always @(posedge clk) begin
    since_tick <= since_tick == {TICK_CYCLES - 1} ? 0 : since_tick + 1;
    tick <= since_tick == {TICK_CYCLES - 1};
  end
"""
