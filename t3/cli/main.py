"""The command ``t3``."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sysmodel.config.system import System, load_system, preset_names, preset_path
from sysmodel.config.workload import Workload, known_workloads
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.output import OutputFolder, json_text, write_json
from sysmodel.lib.progress import Report, shown_progress
from sysmodel.runs import report
from sysmodel.runs.check_options import CheckOptions, CheckResult
from sysmodel.runs.result import CONFIGURATIONS, DEFAULT_CONFIGURATIONS, RunOptions, RunResult
from t3.cli.coverage import coverage
from t3.cli.exhaust import exhaust
from t3.cli.faults import faults
from t3.cli.mutate import mutate
from t3.cli.prove import prove
from t3.cli.reproduce import reproduce
from t3.cli.silicon import area, diagrams, timing
from t3.cli.sweep import sweep
from t3.cli.validate import validate

from .export import export

__all__ = ["app", "main"]

PICTURE, RESULT, TIMELINE, WAVES = (
    "configurations.png",
    "result.json",
    "timeline.json",
    "waves.vcd",
)
_INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended
app = typer.Typer(
    add_completion=False,
    help="Transparent tracking and triggering: what hiding a Transformer's all-reduce behind the "
    "GEMM before it gives, cycle by cycle, with the real hardware in the loop.",
)


def _integer(text: str) -> int:
    try:
        return int(text) if len(text) < 20 else int("too long")
    except ValueError:
        shown = text if len(text) < 20 else text[:16] + "..."
        raise typer.BadParameter(f"{shown!r} is not allowed; allowed: an integer") from None


def _option(help_text: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(help=help_text, metavar=metavar, **more)


def _number(help_text: str, metavar: str = "INTEGER") -> Any:
    return _option(help_text, metavar, parser=lambda text: _integer(str(text)))


Engine = Annotated[
    str, _option("The T3 hardware: rtl (compiled Verilog) or golden (fast model).", "rtl|golden")
]


@app.command()
def run(
    model: Annotated[str, _option("Transformer; see t3 models.")] = "t-nlg",
    layer: Annotated[str, _option("Sublayer that is all-reduced.", "op|fc1|fc2|ip")] = "fc2",
    tp: Annotated[int, _number("GPUs that share the layer.")] = 8,
    engine: Engine = "rtl",
    channels: Annotated[
        str, _option("Memory channels to simulate; a few stand for all.", "1|K|all")
    ] = "1",
    gpus: Annotated[
        str, _option("One GPU that stands for all, or every one.", "mirror|all")
    ] = "mirror",
    config: Annotated[
        str, _option("System: a TOML file, or a preset; see t3 presets.", "FILE.toml")
    ] = "asplos24",
    configurations: Annotated[
        str,
        _option(
            f"Which to compare, separated by commas: some of {', '.join(CONFIGURATIONS)}.",
            "A,B,...",
            show_default="the first five",
        ),
    ] = ",".join(DEFAULT_CONFIGURATIONS),
    waves: Annotated[
        str | None, _option("Write a waveform of memory cycles A to B; RTL engine only.", "A:B")
    ] = None,
    out: Annotated[Path, _option("Folder for the files.", "DIR")] = Path("build/run"),
    json: Annotated[bool, typer.Option("--json", help="Print result.json and nothing else.")] = (
        False
    ),
) -> None:
    """Simulate one sublayer: its GEMM, the reduce-scatter, the all-gather.

    Prints a table; writes result.json, a picture and a timeline for Perfetto.
    """
    workload = known_workloads().workload(model, layer, tp)
    system = load_system(config)
    options = RunOptions(
        engine=engine,
        channels=channels if channels == "all" else _channels(channels),
        gpus=gpus,
        configurations=tuple(name.strip() for name in configurations.split(",")),
        waves=None if waves is None else _cycles(waves),
    )
    options.simulated_channels(system)
    system.workgroups(workload.m, workload.n)
    names = (PICTURE, RESULT, TIMELINE) + ((WAVES,) if options.waves else ())
    with OutputFolder(out, names) as folder:
        if options.waves:
            options = replace(options, waves_file=folder.staging / WAVES)
        with shown_progress() as progress:
            result = _simulate(workload, system, options, progress)
        files = _write(result, folder)
    if json:
        sys.stdout.write(json_text(result.as_dict()))
    else:
        report.print_run(result, files)


@app.command()
def check(
    gpus: Annotated[int, _number("GPUs of the ring, 2 to 8.")] = CheckOptions.gpus,
    m: Annotated[int, _number("Rows of the output.")] = CheckOptions.m,
    n: Annotated[int, _number("Columns of the output.")] = CheckOptions.n,
    k: Annotated[int, _number("Products in each sum.")] = CheckOptions.k,
    dtype: Annotated[str, _option("Of operands and output.", "fp16|bf16")] = CheckOptions.dtype,
    engine: Engine = CheckOptions.engine,
    channels: Annotated[
        int, _number("Memory channels of each GPU, a power of two.")
    ] = CheckOptions.channels,
    skew: Annotated[
        int, _number("Each GPU starts so many memory cycles after the one before.", "CYCLES")
    ] = CheckOptions.skew,
    back_pressure: Annotated[
        int, _number("Percent of cycles in which a link takes nothing.", "PERCENT")
    ] = CheckOptions.back_pressure,
    seed: Annotated[int, _number("Of all that is random.")] = CheckOptions.seed,
) -> None:
    """Run real values through the hardware and compare every bit.

    Every element of the reduce-scattered GEMM, on every GPU and channel, against NumPy's
    reduction in ring order. The exit code is 0 only if all agree.
    """
    options = CheckOptions(
        gpus=gpus,
        m=m,
        n=n,
        k=k,
        dtype=dtype,
        engine=engine,
        channels=channels,
        skew=skew,
        back_pressure=back_pressure,
        seed=seed,
    )
    with shown_progress() as progress:
        result = _check(options, progress)
    report.print_check(options, result)
    if not result.passed:
        raise typer.Exit(1)


for command in (sweep, reproduce, validate, export, area, timing, diagrams):
    app.command()(command)
for command in (prove, exhaust, mutate, coverage, faults):
    app.command()(command)


@app.command()
def models() -> None:
    """List the models and sublayers that are known, with their sources."""
    report.print_models(known_workloads())


@app.command()
def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this preset's TOML file.")
    ] = None,
) -> None:
    """List the systems that come along, or print one, with the source of every value."""
    if name is None:
        report.print_presets()
    elif name in preset_names():
        sys.stdout.write(preset_path(name).read_text(encoding="utf-8"))
    else:
        raise InputError("NAME", f"{name!r} is not known; allowed: {', '.join(preset_names())}")


def _channels(text: str) -> int:
    try:
        return _integer(text)
    except typer.BadParameter:
        raise InputError(
            "channels", f"{text[:20]!r} is not allowed; allowed: an integer, or all"
        ) from None


def _cycles(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    try:
        return _integer(first), _integer(last)
    except typer.BadParameter:
        raise InputError(
            "waves", f"{text[:40]!r} is not allowed; allowed: A:B, two memory cycles"
        ) from None


# The simulation is imported only when it is needed: `t3 models` does not wait for Numba.
def _simulate(
    workload: Workload, system: System, options: RunOptions, progress: Report
) -> RunResult:
    from sysmodel.runs.simulate import run as simulate

    return simulate(workload, system, options, progress)


def _check(options: CheckOptions, progress: Report) -> CheckResult:
    from sysmodel.runs.check import check as compare

    return compare(options, progress)


def _write(result: RunResult, folder: OutputFolder) -> list[Path]:
    from sysmodel.runs.plots import draw_configurations
    from sysmodel.runs.timeline import trace

    try:
        write_json(folder.staging / RESULT, result.as_dict())
        draw_configurations(result, folder.staging / PICTURE)
        timeline = trace(result.timelines, result.workload.title)
        write_json(folder.staging / TIMELINE, timeline, indent=None)
        return folder.publish()
    except OSError as error:
        raise InputError(
            "out", f"{str(folder.path)!r} cannot be written: {error.strerror}"
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Run the command and give its exit code: 0; 1 for a failed check, a failed
    simulation or a missing compiler; 2 for bad input; 130 after Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments or ["--help"], prog_name="t3", standalone_mode=False)
    except InputError as error:
        options = {o for sub in command.commands.values() for p in sub.params for o in p.opts}
        return _fail(f"--{error}" if f"--{error.field}" in options else str(error), 2)
    except SimulationError as error:
        return _fail(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except Exception as error:
        if _no_compiler(error):
            return _fail(str(error), 1)
        if not hasattr(error, "format_message"):
            raise
        return _fail(_usage(error), error.exit_code)
    if code == _INTERRUPTED:
        return _fail("interrupted", code)
    return code or 0


def _no_compiler(error: Exception) -> bool:
    """Whether the native engine lacks its compiler; says so without importing the engine."""
    build = sys.modules.get("sysmodel.engine.native.build")
    return build is not None and isinstance(error, build.NoCompilerError)


def _usage(error: Any) -> str:
    """What the option parser found wrong. Its exceptions have no public common base."""
    options = getattr(getattr(error, "param", None), "opts", None)
    if options and error.message:
        return f"{max(options, key=len)}: {error.message}"
    message = error.format_message()
    if message.startswith("No such command"):
        names = [command.name or command.callback.__name__ for command in app.registered_commands]
        message += f" Allowed: {', '.join(names)}"
    return message


def _fail(problem: str, code: int) -> int:
    print("error:" if code != _INTERRUPTED else "t3:", " ".join(problem.split()), file=sys.stderr)
    return code
