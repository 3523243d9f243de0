"""Bench of one block in Verilog, under random traffic that keeps the protocol of streams."""

from collections.abc import Iterable

__all__ = ["SEED", "traffic_bench"]

SEED = 20241
_RESETS = 997  # cycles between them


def traffic_bench(module: str, ports: Iterable[dict], *, cycles: int, beside: str = "") -> str:
    """Return a bench in SystemVerilog.

    A payload on offer stays until it is taken; other inputs change now and then. Every 256 cycles
    busy and quiet traffic alternate. At the end the bench prints the number of transfers.

    Parameters
    ----------
    module : str
        Name of the module.
    ports : iterable of dict
        Name, direction and width of each but ``clk`` and ``rst``.
    cycles : int
        Length of the run.
    beside : str
        More Verilog for the bench, with the same ``clk`` and ``rst``.
    """
    ports = list(ports)
    inputs = [port for port in ports if port["direction"] == "input"]
    outputs = [port for port in ports if port["direction"] == "output"]
    names = {port["name"] for port in ports}
    lines = ["module bench;", "  reg clk = 0, rst = 1, busy;", "  integer cycle, moved = 0;"]
    lines.append(f"  integer seed = {SEED};")
    for kind, some in (("reg ", inputs), ("wire", outputs)):
        lines += [f"  {kind} [{port['width'] - 1}:0] {port['name']};" for port in some]
    stems = sorted(name.removesuffix("valid") for name in names if name.endswith("__valid"))
    streams = [stem for stem in stems if f"{stem}ready" in names]
    for stem in streams:
        stalls = f"{stem}valid && !{stem}ready && !rst"
        lines += [
            f"  reg {stem}stalled = 0;",
            f"  always @(posedge clk) {stem}stalled <= {stalls};",
        ]
    pins = ", ".join(f".{port['name']}({port['name']})" for port in ports)
    lines += [f"  {module} block(.clk(clk), .rst(rst), {pins});", beside, "  initial begin"]
    lines += [f"    {port['name']} = 0;" for port in inputs]
    lines += [f"    for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin"]
    lines += [
        "      busy = (cycle & 256) != 0;",
        f"      rst = cycle < 2 || cycle % {_RESETS} == 0;",
    ]
    for port in inputs:
        lines.append(f"      {_stimulus(port, streams)}")
    moves = " + ".join(f"({stem}valid && {stem}ready)" for stem in streams)
    lines += [
        "      #1;",
        f"      if (!rst) moved = moved + {moves};",
        "      #1 clk = 1; #1 clk = 0;",
        "    end",
        '    $display("MOVED %0d", moved);',
        "    $finish;",
        "  end",
    ]
    return "\n".join([*lines, "endmodule\n"])


def _stimulus(port: dict, streams: list[str]) -> str:
    name, stem = port["name"], port["name"].rpartition("__")[0] + "__"
    words = ", ".join(["$random(seed)"] * -(-port["width"] // 32))
    if name.endswith("__ready"):
        return f"{name} = $random(seed) % (busy ? 8 : 2) == 0;"
    if name.endswith("__valid") and stem in streams:
        return f"if (!{stem}stalled || rst) {name} = $random(seed) % (busy ? 2 : 16) == 0;"
    if name.endswith("__payload") and stem in streams:
        return f"if (!{stem}stalled || rst) {name} = {{{words}}};"
    return f"if ($random(seed) % 64 == 0) {name} = {{{words}}};"
