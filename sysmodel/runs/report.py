"""Tables on the terminal, for 80 columns. Colours only there."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from sysmodel.config.notices import notices
from sysmodel.lib.terminal import terminal, terminal_table

from .check_options import CheckOptions, CheckResult
from .comparison import ROUND_ROBIN, Spread, slower, spreads
from .result import RunResult

if TYPE_CHECKING:
    from .bounds import Bound

__all__ = ["library_efficiency", "print_check", "print_run"]


_SHOWN_SLOTS = (("pipes",), ("l2", "memory"), ("stores",))
_SHOWN_LINK = (("RS", "link"), ("RS", "memory"), ("AG", "link"))
_NAME_WIDTH = 13  # of a configuration, so that the table of times has room for its numbers
_FEW_CHANNELS = 32  # of which one stands for all within about 1 %; see docs/validation


def library_efficiency(k: float) -> float:
    """Share of the peak that a tuned library reaches: a fit to 789 sizes with M x N of at least
    16 M of rocBLAS's fp16 kernels on gfx90a (Tensile, aldebaran_104cu)."""
    return 0.94 * k / (k + 210)


def _thousandths(value: float) -> str:
    """A count of ns in µs, or of kB in MB, with a decimal where it says something."""
    return f"{value / 1e3:,.1f}" if value < 1e6 else f"{value / 1e3:,.0f}"


def _megabytes(count: int) -> str:
    return _thousandths(count / 1e3)


def print_run(result: RunResult, files: list[Path]) -> None:
    """Print what a run gave and where its files lie."""
    # They bring NumPy, for which the help of a command shall not wait.
    from .bounds import bounds

    console = terminal()
    console.print()
    console.print(_times(result))
    for sentence in _simulated(result):
        console.print(sentence, soft_wrap=True)
    for notice in notices(result.system):
        console.print(notice, style="yellow", soft_wrap=True, markup=False)
    for one in slower(result.repetitions):
        console.print(one.sentence, style="yellow", soft_wrap=True)
    console.print()
    if result.varied:
        console.print(_repetitions(result))
        console.print()
    if found := bounds(result):
        console.print(_bounds(result, found))
        console.print()
    console.print(_bytes(result))
    console.print()
    console.print(_energy(result))
    k = result.workload.k
    console.print(
        f"\nGEMM alone: {result.gemm_efficiency:.1%} of peak "
        f"(a tuned library at K = {k}: {library_efficiency(k):.1%})."
    )
    console.print(
        f"Simulated {result.cycles:,} memory cycles in {result.wall_s:.1f} s "
        f"({result.cycles_per_s / 1e6:.2f} M/s), {result.options.engine} engine."
    )
    stalls = max(one.tracker_stall_ns for one in result.configurations.values())
    console.print(
        "The tracker never held the memory up."
        if stalls == 0
        else f"The tracker held the memory up for {stalls:,.1f} ns at most (per channel)."
    )
    for file in files:
        console.print(f"  {file}", style="cyan", soft_wrap=True, markup=False)


def _simulated(result: RunResult) -> Iterator[str]:
    """What was simulated, where it is not the GEMM in one launch."""
    if result.launches > 1:
        yield (
            f"T3 tracks it in {result.launches} launches, since a chunk of the whole exceeds its "
            "window; each has a reduce-scatter and an all-gather of its own."
        )
    channels = result.system.dram.channels
    if result.channels < channels and channels > _FEW_CHANNELS:
        yield (
            f"Simulated are {result.channels} of {channels} channels: T3 comes out faster than "
            "with --channels all, the more so the shorter a tile's rows."
        )
    if result.extrapolated:
        of = (one for parts in result.simulated.values() for one in parts)
        sizes = {f"{one.m} x {one.n} x {one.k}": None for one in of}
        yield (
            f"Too large to simulate: extrapolated from {', '.join(sizes)}, linearly in rows and "
            "depth."
        )


def _unit(result: RunResult) -> tuple[str, Callable[[float], str]]:
    """Of times: in which all have few digits, and their words."""
    longest = max(one.total_ns for one in result.configurations.values())
    return ("µs", _thousandths) if longest < 1e7 else ("ms", lambda value: f"{value / 1e6:,.2f}")


def _times(result: RunResult) -> Table:
    unit, words = _unit(result)
    table = terminal_table(
        f"{result.workload.title} on {escape(result.system.name)}: times in {unit}",
        *("\n\nconfiguration", "\n\nGEMM", "con-\nten-\ntion", "\nwait-\ning"),
        *("\n\nRS", "\n\nAG", "comm.\nhid-\nden", "comm.\nex-\nposed"),
        *("\n\ntotal", "\nspeed-\nup"),
    )
    for name, one in result.configurations.items():
        table.add_row(
            fill(name, _NAME_WIDTH),
            words(one.gemm_ns),
            f"{one.gemm_contention:.3f}",
            f"{one.gemm_waiting:.3f}",
            words(one.rs_ns),
            words(one.ag_ns),
            words(one.overlapped_communication_ns),
            words(one.exposed_communication_ns),
            words(one.total_ns),
            "-" if one.speedup is None else f"[bold green]{one.speedup:.3f}x[/]",
        )
    return table


def _bounds(result: RunResult, found: "Sequence[Bound]") -> Table:
    table = terminal_table(
        "What bounds it: what GEMM slots and link do or wait for, in %",
        *("\nconfiguration", "GEMM\npipes", "\ndata", "\nstores"),
        *("RS\nlink", "\nmemory", "AG\nlink", "bound by\nGEMM, RS, AG"),
    )
    table.columns[-1].justify = "left"
    for name in dict.fromkeys(one.configuration for one in found):
        phases = {one.phase: one for one in found if one.configuration == name}
        slots = result.configurations[name].gemm_slots.shares
        shares = [
            f"{100 * sum(slots[what] for what in together):.0f}" if slots else "-"
            for together in _SHOWN_SLOTS
        ]
        shares += [
            f"{100 * phases[phase].link_time[what]:.0f}" if phase in phases else "-"
            for phase, what in _SHOWN_LINK
        ]
        by = (phases[phase].by if phase in phases else "-" for phase in ("GEMM", "RS", "AG"))
        table.add_row(name, *shares, ", ".join(by))
    return table


def _repetitions(result: RunResult) -> Table:
    unit, words = _unit(result)
    table = terminal_table(
        f"{len(result.repetitions)} repetitions: times in {unit}, time over {ROUND_ROBIN}'s in %",
        *("\nconfiguration", "total\nmean", "\nleast", "\nmost"),
        *("speed-\nup", "\nleast", "\nmost", "over\nmean", "\nleast", "\nmost"),
    )
    for one in spreads(result.repetitions):
        table.add_row(
            one.configuration,
            *_extent(one.total_ns, words),
            *_extent(one.speedup, "{:.3f}".format),
            *_extent(one.over_round_robin, _percent),
        )
    return table


def _extent(spread: Spread | None, words: Callable[[float], str]) -> tuple[str, ...]:
    if spread is None:
        return ("-",) * 3
    return words(spread.mean), words(spread.least), words(spread.most)


def _percent(share: float) -> str:
    """In five characters."""
    return f"{share * 1e2:+.{2 if abs(share) < 0.0999 else 1}f}"


def _bytes(result: RunResult) -> Table:
    table = terminal_table(
        "One GPU's traffic in MB",
        *("configuration", "GEMM\nread", "GEMM\nwrite", "RS\nread", "RS\nwrite"),
        *("AG\nread", "AG\nwrite", "DRAM\ntotal", "\nlink"),
    )
    for name, one in result.configurations.items():
        moved = one.dram_bytes
        table.add_row(
            name,
            _megabytes(moved.gemm_read),
            _megabytes(moved.gemm_write),
            _megabytes(moved.rs_read),
            _megabytes(moved.rs_write),
            _megabytes(moved.ag_read),
            _megabytes(moved.ag_write),
            _megabytes(moved.total),
            _megabytes(one.link_bytes.total),
        )
    return table


def _energy(result: RunResult) -> Table:
    table = terminal_table(
        "One GPU's dynamic energy in mJ, without the GEMM's on the CUs; T3's power in mW, beside "
        f"the board's {result.system.gpu.board_power_w:g} W",
        *("configuration", "DRAM", "NMC", "link", "wires", "CUs", "T3", "total", "saved"),
        "T3's mW",
    )
    for name, one in result.configurations.items():
        energy = one.energy_j
        parts = (energy.dram, energy.nmc, energy.link, energy.network, energy.cu, energy.t3)
        table.add_row(
            name,
            *(f"{part * 1e3:.2f}" for part in (*parts, one.energy_total_j)),
            "-" if one.energy_reduction is None else f"{one.energy_reduction:.1%}",
            f"{one.t3_power_w * 1e3:.0f}",
        )
    return table


def print_check(options: CheckOptions, result: CheckResult) -> None:
    """Print whether every bit agrees, and if not, where."""
    console = terminal()
    shape = f"{' beside '.join(map(str, options.problems))} on {options.gpus} GPUs"
    if result.passed:
        console.print(f"[bold green]passed[/]: {shape}, {result.elements:,} elements bit for bit")
    else:
        console.print(
            f"[bold red]failed[/]: {shape}, {result.mismatches:,} of {result.elements:,} "
            "elements differ"
        )
    for one in result.first_mismatches:
        context = f"context {one.context}, " if options.contexts > 1 else ""
        console.print(
            f"  {context}GPU {one.gpu}, row {one.row}, column {one.column}: "
            f"expected 0x{one.expected:04x}, found 0x{one.found:04x}"
        )
    for error in result.errors:
        console.print(f"  {error}", markup=False)
    console.print(
        f"{_in_launches(result.launches)}{result.cycles:,} memory cycles in {result.wall_s:.1f} s, "
        f"{options.engine} engine, "
        f"seed {options.seed}"
    )


def _in_launches(count: int) -> str:
    return "" if count == 1 else f"{count} launches, each with a slice of the output; "
