"""``t3 config``."""

from typing import Annotated

import typer

from sysmodel.lib.terminal import terminal, terminal_table

__all__ = ["config"]

config = typer.Typer(
    name="config",
    help="Say what a system is and where each value comes from, whether it is sound, and how two "
    "differ.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_System = Annotated[str, typer.Argument(metavar="NAME|FILE.toml", help="A preset, or a file.")]


@config.command()
def show(system: _System) -> None:
    """Print a system as one file: every value, with the file that gives it and its source.

    What is printed is a file that needs no base; save it, change it, and give it to --system.
    """
    # It checks what it reads with pydantic, for which other commands shall not wait.
    from sysmodel.config.complete import complete_toml

    typer.echo(complete_toml(system), nl=False)


@config.command()
def validate(system: _System) -> None:
    """Check a system, and say what looks unphysical in it.

    The exit code is 2 if it cannot be simulated, and 1 if something looks unphysical.
    """
    from sysmodel.config.complete import summary
    from sysmodel.config.notices import notices
    from sysmodel.config.system import load_system

    loaded = load_system(system)
    for line in summary(loaded):
        typer.echo(line)
    found = notices(loaded)
    for notice in found:
        typer.echo(notice)
    if found:
        raise typer.Exit(1)
    typer.echo("sound")


@config.command()
def diff(one: _System, other: _System) -> None:
    """List the values in which two systems differ."""
    from sysmodel.config.complete import differences

    table = terminal_table(f"{one} and {other}", "key", one, other, text_columns=3)
    found = differences(one, other)
    for row in found:
        table.add_row(*row)
    terminal().print(table if found else f"{one} and {other} are alike", markup=False)
