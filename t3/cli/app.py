"""Application ``t3``: its commands by help panel, each imported when it is used."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import t3

__all__ = ["PANELS", "CheckoutError", "app", "load"]

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

PANELS = {
    "Use it": (
        *("run", "model", "sweep", "compare", "check", "dram"),
        *("models", "presets", "config", "collective", "topology", "program"),
    ),
    "Study it": ("reproduce", "machines", "rivals", "validate", "calibrate"),
    "The hardware": ("export", "registers", "area", "timing", "route", "fpga", "diagrams"),
    "Its evidence": ("prove", "exhaust", "mutate", "coverage", "faults"),
}
"""Names of the commands by help panel. A command is a function in the module of the same name."""

_CHECKOUT = ("tb", "verification")


class CheckoutError(RuntimeError):
    """Report that a command needs packages that are not installed with the project."""

    def __init__(self, command: str):
        super().__init__(
            f"t3 {command} runs from a checkout of the project: it needs the packages "
            f"{' and '.join(_CHECKOUT)}"
        )


@cache
def load(name: str) -> Any:
    """Import a command's module and build the command.

    Raises
    ------
    CheckoutError
        The command needs a checkout of the project.
    """
    try:
        module = import_module(f".{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name in _CHECKOUT:
            raise CheckoutError(name) from error
        raise
    if hasattr(module, "app"):  # a group of commands
        application = module.app
    else:
        application = typer.Typer(add_completion=False)
        application.command()(getattr(module, name))
    command = typer.main.get_command(application)
    command.context_settings.update(_SETTINGS)
    return command


class LazyGroup(TyperGroup):
    """Group that lists its commands without importing them."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        for panel, names in PANELS.items():
            for name in names:
                self.add_command(TyperCommand(name, help=_summary(name), rich_help_panel=panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that ``args`` begin with, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(command.name), rest


def _summary(name: str) -> str:
    """First line of a command's help, read from its source."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    (text,) = (ast.get_docstring(function) for function in functions if function.name == name)
    return (text or "").partition("\n\n")[0]


app = typer.Typer(cls=LazyGroup, context_settings=_SETTINGS)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"t3 {t3.__version__}")
        raise typer.Exit


@app.callback()
def _t3(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Transparent tracking and triggering (T3): the gain of a Transformer when the GEMM before an
    all-reduce hides the all-reduce, simulated cycle by cycle, with the hardware's RTL in the loop.
    """
