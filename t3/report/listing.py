"""Models and systems of the project with their sources, as tables on the terminal."""

from collections.abc import Callable, Sequence

from sysmodel.config.model import SUBLAYERS, known_models
from sysmodel.config.parameters import parameters
from sysmodel.config.system import load_system, preset_names
from t3.report.terminal import terminal, terminal_table

__all__ = ["print_models", "print_presets"]


def print_models() -> None:
    """Print the models of the project, and the shapes of their sublayers' GEMMs."""
    console = terminal()
    models = terminal_table(
        "Models (--model)", "model", "hidden", "layers", "batch", "TP", "confidence"
    )
    known = known_models()
    for model in known:
        models.add_row(
            model.name.lower(),
            str(model.hidden),
            str(model.layers),
            f"{model.sequence} x {model.batch}",
            ", ".join(map(str, model.tensor_parallel)),
            model.confidence,
        )
    console.print(models)
    for model in known:
        console.print(f"{model.name}: {model.source}.", soft_wrap=True)
    console.print()
    layers = terminal_table("Sublayers (--layer)", "layer", "GEMM", text_columns=2)
    for name, title in SUBLAYERS.items():
        layers.add_row(name, title)
    console.print(layers)
    shapes = terminal_table(
        "GEMM of each GPU, M x N x K", "layer", "model", "TP", "shape", text_columns=2
    )
    for name in SUBLAYERS:
        for model in known:
            for tp in model.tensor_parallel if name in model.reduced else ():
                work = model.workload(name, tp)
                shape = f"{work.m} x {work.n} x {work.k}"
                shapes.add_row(name, model.name.lower(), str(tp), shape)
    console.print(shapes)
    console.print(
        "Each is a file: t3 models NAME prints it. Save it, change it, and give it to "
        "t3 run --model FILE.toml.",
        soft_wrap=True,
    )


def print_presets(errors: Callable[[str], Sequence[str]]) -> None:
    """Print the systems of the project; ``errors`` gives the lines about a preset's error."""
    console = terminal()
    for name in preset_names():
        system = load_system(name)
        table = terminal_table(
            f"{name}: {system.description}", "part", "properties", text_columns=2
        )
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
            f"tracker {t3.tracker_sets} sets x {t3.tracker_ways} ways, credit window of "
            f"{t3.credit_window_workgroups} workgroups, triggered by {t3.granularity}",
        )
        console.print(table)
        console.print(f"Source: {system.source}.", soft_wrap=True)
        for line in errors(name):
            console.print(line, soft_wrap=True)
        values = parameters(name)
        assumed = [one.key for one in values if one.assumed]
        console.print(
            f"Assumed or recalled, {len(assumed)} of {len(values)} values: {', '.join(assumed)}.\n",
            soft_wrap=True,
        )
    console.print(
        "Every value with its source: t3 presets NAME. Save it, change it, and give it to "
        "t3 run --system FILE.toml.",
        soft_wrap=True,
    )
