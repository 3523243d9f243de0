"""Programs on the terminal: their list, and the activities of one of them."""

from sysmodel.lib.errors import InputError
from sysmodel.runs.configurations.registry import CONFIGURATIONS, evaluation_order
from sysmodel.runs.options import CONFIGURATIONS as LISTED
from sysmodel.runs.program.activities import Activity, Collective
from sysmodel.runs.program.files import load_program, program_names
from sysmodel.runs.program.program import Program

from .terminal import terminal, terminal_table

__all__ = ["print_program", "print_programs"]


def print_programs() -> None:
    """Print the bundled programs."""
    console = terminal()
    table = terminal_table("Programs", "name", "activities", "description", text_columns=3)
    for name in program_names():
        program = load_program(name)
        table.add_row(name, ", ".join(program.names), program.description)
    console.print(table)
    console.print(
        "Each is a file: t3 program file NAME prints it. Save it, change it, and give it to "
        "t3 run --program FILE.toml.",
        soft_wrap=True,
    )


def print_program(program: Program) -> None:
    """Print the activities of a program, and the configurations that run it."""
    console = terminal()
    title = f"{program.name}: {program.description}" if program.description else program.name
    headings = "activity", "kind", "of", "by", "needs", "size"
    table = terminal_table(title, *headings, text_columns=len(headings))
    for one in program.activities:
        table.add_row(one.name, one.kind, *_inputs(one))
    console.print(table)
    refused = {name: problem for name in LISTED if (problem := _refusal(program, name))}
    runs = (name for name in LISTED if name not in refused)
    console.print(f"Configurations: {', '.join(runs)}.", soft_wrap=True)
    names: dict[str, list[str]] = {}
    for name, reason in refused.items():
        names.setdefault(reason, []).append(name)
    for reason, each in names.items():
        console.print(f"Not {', '.join(each)}: {reason}.", style="yellow", soft_wrap=True)


def _inputs(one: Activity) -> tuple[str, str, str, str]:
    needs = ", ".join(one.needs) or "-"
    if isinstance(one, Collective):
        return one.of, one.algorithm or "the library's", needs, "-"
    size = "the workload's"
    if one.size is not None:
        size = f"{one.size.m} x {one.size.n} x {one.size.k}"
    return "-", "-", needs, size


def _refusal(program: Program, name: str) -> str | None:
    """Reason for which a configuration does not run a program; None if it does."""
    try:
        for one in evaluation_order((name,)):
            for chain in program.chains:
                CONFIGURATIONS[one].check(program, chain)
    except InputError as error:
        _, verb, rest = error.problem.partition("does not run")
        return verb + rest
    return None
