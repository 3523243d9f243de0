"""Command ``t3 run``."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sysmodel.config.model import SUBLAYERS
from sysmodel.config.workload import DTYPES, DtypeName
from sysmodel.lib.errors import InputError
from sysmodel.lib.output import OutputFolder, json_text, write_json
from sysmodel.runs.options import (
    CONFIGURATIONS,
    DEFAULT_CONFIGURATIONS,
    GPUS,
    ChannelCount,
    SimulatedGpus,
)
from t3.library.simulation import gemm
from t3.library.simulation import run as run_sublayer

from .completion import lists_of, models, words
from .options import (
    DTYPE_HELP,
    Engine,
    Out,
    ProgramOption,
    SystemOption,
    TopologyOption,
    choice,
    integer,
    integer_option,
    option,
)

if TYPE_CHECKING:
    from sysmodel.runs.result import RunResult
    from t3.library.result import Result

__all__ = ["run"]

_MODEL, _LAYER = "t-nlg", "fc2"
_ModelOption = Annotated[
    str | None,
    option(
        "Model: a name, see t3 models, or a TOML file.",
        "NAME|FILE.toml",
        show_default=_MODEL,
        autocompletion=models,
    ),
]
_LayerOption = Annotated[
    str | None,
    option(
        "Sublayer whose output is all-reduced: op, fc1, fc2, ip, or a GEMM of the file.",
        "NAME",
        show_default=_LAYER,
        autocompletion=words(SUBLAYERS),
    ),
]
PICTURE, REPORT, RESULT, ROOFLINE, TIMELINE, WAVES = (
    "configurations.png",
    "report.html",
    "result.json",
    "roofline.png",
    "timeline.json",
    "waves.vcd",
)


def run(
    model: _ModelOption = None,
    layer: _LayerOption = None,
    tp: Annotated[
        int, integer_option("Degree of tensor parallelism: GPUs that share the layer.")
    ] = 8,
    tokens: Annotated[
        int | None, integer_option("Number of tokens.", show_default="a batch of the model")
    ] = None,
    m: Annotated[int | None, integer_option("GEMM instead of a model: rows of its output.")] = None,
    n: Annotated[int | None, integer_option("Columns of the GEMM's output.")] = None,
    k: Annotated[
        int | None, integer_option("Depth of the GEMM on one GPU: products in each sum.")
    ] = None,
    dtype: Annotated[DtypeName, choice(DTYPE_HELP, DTYPES)] = "fp16",
    engine: Engine = "rtl",
    channels: Annotated[
        str, option("Memory channels to simulate; a sample represents all.", "auto|K|all")
    ] = "auto",
    gpus: Annotated[
        SimulatedGpus, choice("Simulate one GPU, which represents all, or every GPU.", GPUS)
    ] = "mirror",
    system: SystemOption = "asplos24",
    program: ProgramOption = "sublayer",
    topology: TopologyOption = None,
    configurations: Annotated[
        str | None,
        option(
            f"Configurations to compare, separated by commas: {', '.join(CONFIGURATIONS)}.",
            "A,B,...",
            show_default=f"{', '.join(DEFAULT_CONFIGURATIONS)}, and the rivals that can run",
            autocompletion=lists_of(CONFIGURATIONS),
        ),
    ] = None,
    repeat: Annotated[
        int,
        integer_option("Number of repetitions; all but the first vary like a real machine."),
    ] = 1,
    seed: Annotated[int, integer_option("Seed for the variation between repetitions.")] = 0,
    waves: Annotated[
        str | None, option("Write a waveform of the memory cycles A to B; RTL engine only.", "A:B")
    ] = None,
    out: Out = Path("build/run"),
    json: Annotated[bool, typer.Option("--json", help="Print only the content of result.json.")] = (
        False
    ),
) -> None:
    """Simulate one sublayer: its GEMM, the reduce-scatter, the all-gather; or another program.

    Prints tables; writes result.json, an HTML page, two pictures and a timeline for Perfetto.
    """
    sizes = {"m": m, "n": n, "k": k}
    options: dict[str, Any] = {
        "tp": tp,
        "dtype": dtype,
        "system": system,
        "topology": topology,
        "engine": engine,
        "channels": _channels(channels),
        "gpus": gpus,
        "program": program,
        "configurations": _names(configurations),
        "repeat": repeat,
        "seed": seed,
        "waves": None if waves is None else _cycles(waves),
    }
    names = (PICTURE, REPORT, RESULT, ROOFLINE, TIMELINE) + ((WAVES,) if waves else ())
    with OutputFolder(out, names) as folder:
        if waves:
            options["waves_file"] = folder.staging / WAVES
        result = _simulated(sizes, {"model": model, "layer": layer, "tokens": tokens}, options).run
        files = _write(result, folder)
    if json:
        sys.stdout.write(json_text(result.as_dict()))
    else:
        from t3.report.run_tables import print_run

        print_run(result, files)


def _simulated(
    sizes: Mapping[str, int | None], of_model: Mapping[str, Any], options: Mapping[str, Any]
) -> "Result":
    """Simulate a model's sublayer, or a GEMM of explicit sizes."""
    given = [name for name, size in sizes.items() if size is not None]
    if not given:
        model, layer = of_model["model"] or _MODEL, of_model["layer"] or _LAYER
        return run_sublayer(model, layer, tokens=of_model["tokens"], **options)
    for name, value in of_model.items():
        if value is not None:
            raise InputError(
                name, f"not allowed together with {given[0]}; allowed: a model, or m, n, k"
            )
    whole = {name: size for name, size in sizes.items() if size is not None}
    if len(whole) < len(sizes):
        missing = ", ".join(name for name in sizes if name not in whole)
        raise InputError(given[0], f"needs {missing}; m, n and k must be given together")
    return gemm(whole["m"], whole["n"], whole["k"], **options)


def _names(configurations: str | None) -> tuple[str, ...] | None:
    if configurations is None:
        return None
    return tuple(name.strip() for name in configurations.split(","))


def _channels(text: str) -> ChannelCount:
    if text == "all" or text == "auto":
        return text  # type: ignore[return-value]
    try:
        return integer(text)
    except typer.BadParameter:
        problem = f"{text[:20]!r} is not allowed; allowed: an integer, auto, or all"
        raise InputError("channels", problem) from None


def _cycles(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    try:
        return integer(first), integer(last)
    except typer.BadParameter:
        problem = f"{text[:40]!r} is not allowed; allowed: A:B, two memory cycles"
        raise InputError("waves", problem) from None


def _write(result: "RunResult", folder: OutputFolder) -> list[Path]:
    from sysmodel.runs.timeline import trace
    from t3.report.bars import draw_bars
    from t3.report.roofline import draw_roofline
    from t3.report.run import run_page

    published: list[Path] = []
    with folder.writing():
        write_json(folder.staging / RESULT, result.as_dict())
        draw_bars(result, folder.staging / PICTURE)
        draw_roofline(result, folder.staging / ROOFLINE)
        (folder.staging / REPORT).write_text(run_page(result), encoding="utf-8")
        timeline = trace(result.timelines, result.title)
        write_json(folder.staging / TIMELINE, timeline, indent=None)
        published = folder.publish()
    return published
