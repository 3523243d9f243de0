"""Tables on the terminal. Colours only there; wide enough not to wrap where output is a file."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from .check_options import CheckOptions, CheckResult
from .config import load_system, preset_names
from .result import RunResult
from .workload import Table

__all__ = ["library_efficiency", "print_check", "print_models", "print_presets", "print_run"]

_LEAST_WIDTH = 110


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    return console


def _table(title: str, *columns: str, text_columns: int = 1) -> RichTable:
    table = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < text_columns else "right")
    return table


def library_efficiency(k: int) -> float:
    """Share of the peak that a tuned library reaches: a fit to 789 sizes with M x N of at least
    16 M of rocBLAS's fp16 kernels on gfx90a (Tensile, aldebaran_104cu)."""
    return 0.94 * k / (k + 210)


def _microseconds(ns: float) -> str:
    return f"{ns / 1e3:,.1f}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f}"


def print_run(result: RunResult, files: list[Path]) -> None:
    """Print what a run gave and where its files lie."""
    console = _console()
    console.print()
    console.print(_times(result))
    console.print()
    console.print(_bytes(result))
    k = result.workload.k
    console.print(
        f"\nGEMM alone: {result.gemm_efficiency:.1%} of peak "
        f"(a tuned library at K = {k}: {library_efficiency(k):.1%})."
    )
    console.print(
        f"Simulated {result.cycles:,} memory cycles in {result.wall_s:.1f} s "
        f"({result.cycles_per_s / 1e6:.2f} M/s), {result.options.engine} engine."
    )
    for file in files:
        console.print(f"  {file}", style="cyan", soft_wrap=True, markup=False)


def _times(result: RunResult) -> RichTable:
    table = _table(
        f"{result.workload.title} on {escape(result.system.name)}: times in µs",
        *("configuration", "GEMM", "slow-down", "RS", "AG"),
        *("hidden", "exposed", "total", "speedup"),
    )
    for name, one in result.configurations.items():
        table.add_row(
            name,
            _microseconds(one.gemm_ns),
            f"{one.gemm_slowdown:.3f}x",
            _microseconds(one.rs_ns),
            _microseconds(one.ag_ns),
            _microseconds(one.overlapped_communication_ns),
            _microseconds(one.exposed_communication_ns),
            _microseconds(one.total_ns),
            "-" if one.speedup is None else f"[bold green]{one.speedup:.3f}x[/]",
        )
    return table


def _bytes(result: RunResult) -> RichTable:
    table = _table(
        "One GPU's traffic in MB",
        *("configuration", "GEMM read", "GEMM write", "RS read", "RS write"),
        *("AG read", "AG write", "DRAM total", "link"),
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
            _megabytes(one.link_bytes),
        )
    return table


def print_check(options: CheckOptions, result: CheckResult) -> None:
    """Print whether every bit agrees, and if not, where."""
    console = _console()
    shape = f"{options.m} x {options.n} x {options.k} {options.dtype} on {options.gpus} GPUs"
    if result.passed:
        console.print(f"[bold green]passed[/]: {shape}, {result.elements:,} elements bit for bit")
    else:
        console.print(
            f"[bold red]failed[/]: {shape}, {result.mismatches:,} of {result.elements:,} "
            "elements differ"
        )
    for one in result.first_mismatches:
        console.print(
            f"  GPU {one.gpu}, row {one.row}, column {one.column}: "
            f"expected 0x{one.expected:04x}, found 0x{one.found:04x}"
        )
    for error in result.errors:
        console.print(f"  {error}", markup=False)
    console.print(
        f"{result.cycles:,} memory cycles in {result.wall_s:.1f} s, {options.engine} engine, "
        f"seed {options.seed}"
    )


def print_models(known: Table) -> None:
    """Print the models and the shapes of their sublayers' GEMMs."""
    console = _console()
    models = _table("Models (--model)", "model", "hidden", "layers", "tokens", "TP", "confidence")
    for model in known.model:
        models.add_row(
            model.name.lower(),
            str(model.hidden),
            str(model.layers),
            str(model.tokens),
            ", ".join(map(str, model.tensor_parallel)),
            model.confidence,
        )
    console.print(models)
    for model in known.model:
        console.print(f"{model.name}: {model.source}.", soft_wrap=True, markup=False)
    console.print()
    layers = _table(
        "Sublayers (--layer): the GEMM on each GPU, M x N x K",
        *("layer", "what it is", "model", "TP 8", "TP 16"),
        text_columns=3,
    )
    for sublayer in known.sublayer:
        for model in known.model:
            first = model is known.model[0]
            layers.add_row(
                sublayer.name if first else "",
                sublayer.title if first else "",
                model.name.lower(),
                *(_shape(known, model.name, sublayer.name, tp) for tp in (8, 16)),
            )
    console.print(layers)


def _shape(known: Table, model: str, layer: str, tp: int) -> str:
    work = known.workload(model, layer, tp)
    return f"{work.m} x {work.n} x {work.k}"


def print_presets() -> None:
    """Print the systems that come along."""
    console = _console()
    for name in preset_names():
        system = load_system(name)
        table = _table(f"{name}: {system.description}", "part", "what it is", text_columns=2)
        gpu, l2, dram, link, t3 = system.gpu, system.l2, system.dram, system.link, system.t3
        table.add_row(
            "GPU",
            f"{gpu.compute_units} CUs at {gpu.clock_mhz:g} MHz, "
            f"{system.peak_flops_per_ns / 1e3:.1f} TFLOPS fp16",
        )
        table.add_row("L2", f"{l2.capacity_mib:g} MiB in {l2.slices} slices, {l2.ways} ways")
        table.add_row(
            "DRAM",
            f"{dram.channels} channels at {dram.clock_mhz:g} MHz, "
            f"{system.dram_bytes_per_ns:g} GB/s, refresh: {dram.refresh}",
        )
        table.add_row("link", f"{link.bandwidth_gb_per_s:g} GB/s, {link.latency_ns:g} ns")
        table.add_row(
            "T3",
            f"tracker {t3.tracker_sets} sets x {t3.tracker_ways} ways, window of "
            f"{t3.window_workgroups} workgroups, triggered by {t3.granularity}",
        )
        console.print(table)
        console.print(f"Source: {system.source}.\n", soft_wrap=True, markup=False)
    console.print(
        "Every value with its source: t3 presets NAME. Save it, change it, and give it to "
        "t3 run --config FILE.toml.",
        soft_wrap=True,
        markup=False,
    )
