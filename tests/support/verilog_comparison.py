"""Two Verilog modules with the same ports, side by side under the same random inputs."""

import re
from pathlib import Path

from tests.support.optional_tools import needs
from tests.support.verilog_tools import run, verilated

__all__ = ["SEED", "SIMULATORS", "compare"]

SEED = 20241
_RESETS = 997  # cycles between them
_SIDES = ("first", "second")


def _stimulus(port: dict) -> str:
    """Return the stimulus of an input by phase.

    In phase 0 it changes in each cycle, in phase 1 now and then. In phases 2 and 3 it rests; in
    phase 3 the outputs are taken. Strobes that empty a block come rarely, and a session lasts.
    """
    name, width = port["name"], port["width"]
    words = ", ".join(["$random(seed)"] * -(-width // 32))
    if name == "clear":
        return f"{name} = {{{words}}} % 64 == 0;"
    if name == "open":
        return f"{name} = cycle % 64 != 0;"
    if width == 1:
        at_rest = "phase == 3" if name.endswith("ready") else "1'b0"
        sparse = f"phase == 1 ? $random(seed) % 8 == 0 : {at_rest}"
        return f"{name} = phase == 0 ? {words} : {sparse};"
    return f"if (phase == 0 || phase == 1 && $random(seed) % 8 == 0) {name} = {{{words}}};"


def _bench(ports: list[dict], cycles: int, *, in_reset: bool) -> str:
    """Return a bench that compares all outputs before each edge, and counts their changes."""
    inputs = [p for p in ports if p["direction"] == "input" and p["name"] != "clk"]
    outputs = [p for p in ports if p["direction"] == "output"]
    lines = ["module bench;", "  integer seed, cycle, phase, changes = 0, idle = 0;"]
    lines.append("  reg clk = 0;")
    lines += [f"  reg [{p['width'] - 1}:0] {p['name']} = 0;" for p in inputs]
    for side in _SIDES:
        lines += [f"  wire [{p['width'] - 1}:0] {side}_{p['name']};" for p in outputs]
        pins = [f".{p['name']}({p['name']})" for p in ports if p["direction"] == "input"]
        pins += [f".{p['name']}({side}_{p['name']})" for p in outputs]
        lines.append(f"  {side} {side}({', '.join(pins)});")
    when = "" if in_reset else "!rst && "
    of = {side: "{" + ", ".join(f"{side}_{p['name']}" for p in outputs) + "}" for side in _SIDES}
    lines += [
        f"  reg [{sum(p['width'] for p in outputs) - 1}:0] shown;",
        "  initial begin",
        f"    seed = {SEED};",
        f"    for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin",
        "      if (cycle % 32 == 0) phase = $random(seed) & 3;",
        *(f"      {_stimulus(p)}" for p in inputs if p["name"] != "rst"),
    ]
    if any(p["name"] == "rst" for p in inputs):
        lines.append(f"      rst = cycle < 2 || cycle % {_RESETS} == 0;")
    lines += [
        "      #1;",
        f"      if ({when}{of['first']} !== {of['second']}) begin",
        '        $display("DIFFERENT in cycle %0d", cycle);',
        "        $finish;",
        "      end",
        f"      if (cycle > 0 && shown !== {of['first']}) changes = changes + 1;",
        f"      shown = {of['first']};",
    ]
    if any(p["name"] == "clock_enable" for p in outputs):
        lines.append("      if (!first_clock_enable) idle = idle + 1;")
    lines += [
        "      clk = 1; #1; clk = 0; #1;",
        "    end",
        '    $display("SAME, %0d changes, %0d idle", changes, idle);',
        "    $finish;",
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _icarus(folder: Path, sources: list[Path], defines: tuple[str, ...]) -> str:
    options = ["-g2005", *(f"-D{name}" for name in defines), "-o", folder / "bench"]
    done = run(needs("iverilog"), *options, *sources)
    assert done.returncode == 0, done.stderr
    return run("vvp", folder / "bench").stdout


def _verilator(folder: Path, sources: list[Path], defines: tuple[str, ...]) -> str:
    return verilated(folder, "bench", sources, *(f"-D{name}" for name in defines)).stdout


SIMULATORS = {"verilator": _verilator, "icarus": _icarus}


def compare(
    folder: Path,
    simulator: str,
    texts: tuple[str, str],
    ports: list[dict],
    cells: list[Path],
    *,
    cycles: int,
    defines: tuple[str, ...] = (),
    in_reset: bool = True,
) -> tuple[int, int]:
    """Run two modules, named ``first`` and ``second``, and fail where they differ.

    Without ``in_reset`` they may differ while ``rst`` is high, over one clock edge or two.

    Returns
    -------
    changes, idle : int
        Cycles in which an output changed, and in which a ``clock_enable`` output was low.
    """
    sources = [folder / "bench.v"]
    sources[0].write_text(_bench(ports, cycles, in_reset=in_reset))
    for side, text in zip(_SIDES, texts, strict=True):
        sources.append(folder / f"{side}.v")
        sources[-1].write_text(text)
    said = SIMULATORS[simulator](folder, [*sources, *cells], defines)
    counts = re.search(r"^SAME, (\d+) changes, (\d+) idle$", said, re.MULTILINE)
    # Verilator still runs the statements behind $finish.
    assert counts and "DIFFERENT" not in said, f"{said} (seed {SEED})"
    return int(counts[1]), int(counts[2])
