"""Result of a check with real values, on the terminal."""

from sysmodel.runs.check_options import CheckOptions, CheckResult

from .terminal import terminal

__all__ = ["print_check"]


def print_check(options: CheckOptions, result: CheckResult) -> None:
    """Print whether every bit agrees, and otherwise the first elements that differ."""
    console = terminal()
    schedule = options.tracked.schedule
    shape = f"{' beside '.join(map(str, options.problems))} on {options.gpus} GPUs"
    shape = f"{schedule.name} {schedule.operation}, {shape}"
    if result.passed:
        console.print("passed", style="bold green", end="")
        console.print(f": {shape}, {result.elements:,} elements bit for bit")
    else:
        console.print("failed", style="bold red", end="")
        console.print(f": {shape}, {result.mismatches:,} of {result.elements:,} elements differ")
    for one in result.first_mismatches:
        context = f"context {one.context}, " if options.contexts > 1 else ""
        source = f", from GPU {one.source}" if one.source >= 0 else ""
        console.print(
            f"  {context}GPU {one.gpu}{source}, row {one.row}, column {one.column}: "
            f"expected 0x{one.expected:04x}, found 0x{one.found:04x}"
        )
    for error in result.errors:
        console.print(f"  {error}")
    count = result.launches
    launches = "" if count == 1 else f"{count} launches, each with a slice of the output; "
    console.print(
        f"{launches}{result.cycles:,} memory cycles in {result.wall_s:.1f} s, "
        f"{options.engine} engine, seed {options.seed}"
    )
