"""Efficiency of the GEMM alone over K, beside what a tuned library reaches."""

from rich.console import Console
from rich.table import Table

from .config import System, load_system
from .loop import UNTIL_GEMM
from .machine import Machine, kernel_of
from .report import library_efficiency

__all__ = ["gemm_efficiency", "main"]

_TOKENS, _HIDDEN, _TP = 8192, 4256, 8  # T-NLG; only K depends on the sublayer
_DEPTHS = (266, 532, 1064, 2128)


def gemm_efficiency(system: System, m: int, n: int, k: int, engine: str = "golden") -> float:
    """Share of the GPU's peak that an ``m`` × ``n`` × ``k`` GEMM reaches alone."""
    kernel = kernel_of(system, m, n, k, _TP)
    with Machine(system, kernel, engine=engine, channels=1, mirror=True) as machine:
        machine.run(UNTIL_GEMM)
        ns = machine.now * 1e3 / system.dram.clock_mhz
    return kernel.flops / (ns * system.peak_flops_per_ns)


def main() -> None:
    """Print the table for the shapes of T-NLG."""
    system = load_system()
    table = Table(title=f"Efficiency of a {_TOKENS} x {_HIDDEN} x K GEMM, share of the peak")
    for heading in ("K", "model", "tuned library", "difference"):
        table.add_column(heading, justify="right")
    for k in _DEPTHS:
        ours, tuned = gemm_efficiency(system, _TOKENS, _HIDDEN, k), library_efficiency(k)
        table.add_row(str(k), f"{ours:.1%}", f"{tuned:.1%}", f"{100 * (ours - tuned):+.1f} points")
    Console().print(table)


if __name__ == "__main__":
    main()
