"""Benchmark of the engines (full loop with one channel, against the top alone in Amaranth's
simulator) and of the DRAM model."""

import time

import numpy as np
from amaranth.sim import Simulator, SimulatorContext

from rtl.parameters import T3Parameters
from rtl.top import T3
from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.engine.codes import READ
from sysmodel.gpu.address_spaces import CONTEXT_GEMM
from sysmodel.machine.loop import advance
from sysmodel.machine.machine import Machine
from sysmodel.machine.tiling import kernel_of
from sysmodel.machine.until import NEVER
from sysmodel.runs.engines import EngineName
from t3.experiments.dram.patterns import sequential
from t3.experiments.dram.serve import serve
from t3.report.terminal import terminal, terminal_table

__all__ = ["amaranth_cycles_per_s", "dram_requests_per_s", "loop_cycles_per_s", "main"]

_WARM_UP_CYCLES = 100_000
_CYCLES = 1_000_000
_AMARANTH_CYCLES = 2_000


def loop_cycles_per_s(engine: EngineName, cycles: int = _CYCLES) -> float:
    """Measure cycles per second of T-NLG FC-2 with one channel, from the first GEMM stage on."""
    system = load_system()
    workload = workload_of("t-nlg", "fc2", 8)
    kernel = kernel_of(system, workload.m, workload.n, workload.k, workload.tp)
    with Machine(system, kernel, engine=engine, channels=1, mirror=True) as machine:
        machine.launch([machine.map_writes(0, address_space=CONTEXT_GEMM)])
        machine.idle(_WARM_UP_CYCLES)
        begin = time.perf_counter()
        advance(machine.state, machine.hardware, NEVER, cycles)
        return cycles / (time.perf_counter() - begin)


def amaranth_cycles_per_s(cycles: int = _AMARANTH_CYCLES) -> float:
    """Measure cycles per second of the top in Amaranth's simulator with random traffic."""
    top = T3(T3Parameters(contexts=1))
    simulator = Simulator(top)
    simulator.add_clock(1e-9)
    random = np.random.default_rng(0)
    atoms = random.integers(0, 1 << 30, cycles)

    async def bench(ctx: SimulatorContext) -> None:
        channel = top.channel[0]
        ctx.set(channel.dram.ready, 1)
        ctx.set(channel.link_out.ready, 1)
        for atom in atoms:
            ctx.set(channel.reads.payload.atom, int(atom))
            ctx.set(channel.reads.valid, 1)
            ctx.set(channel.stores.payload.atom, int(atom))
            ctx.set(channel.stores.valid, 1)
            await ctx.tick()

    simulator.add_testbench(bench)
    begin = time.perf_counter()
    simulator.run()
    return cycles / (time.perf_counter() - begin)


def dram_requests_per_s(system: str) -> float:
    """Measure sequential reads per second of a system's DRAM channel alone."""
    timing, pattern = load_system(system).dram.timing_cycles, sequential(READ)
    serve(timing, pattern)  # compiles
    begin = time.perf_counter()
    serve(timing, pattern)
    return len(pattern.atoms) / (time.perf_counter() - begin)


def main() -> None:
    """Print the tables of ``make bench``."""
    amaranth = amaranth_cycles_per_s()
    rtl, golden = loop_cycles_per_s("rtl"), loop_cycles_per_s("golden")
    table = terminal_table(
        "Simulated cycles per second, one memory channel",
        *("simulation", "cycles/s", "against Amaranth's simulator"),
    )
    rows = (
        ("top alone, Amaranth's simulator", amaranth),
        ("full loop, RTL engine", rtl),
        ("full loop, golden engine", golden),
    )
    for name, rate in rows:
        table.add_row(name, f"{rate:,.0f}", f"{rate / amaranth:,.0f} x")
    console = terminal()
    console.print(table)
    memory = terminal_table("DRAM model alone", "system", "sequential requests/s, one channel")
    for system in ("asplos24", "h200"):
        memory.add_row(system, f"{dram_requests_per_s(system):,.0f}")
    console.print(memory)


if __name__ == "__main__":
    main()
