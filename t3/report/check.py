"""Result of a check with real values, on the terminal."""

from sysmodel.runs.check_options import CheckOptions, CheckResult

from .terminal import terminal

__all__ = ["print_check"]


def print_check(options: CheckOptions, result: CheckResult) -> None:
    """Print whether all elements agree, and otherwise the first that differ."""
    console = terminal()
    schedule = options.tracked.schedule
    shape = f"{' beside '.join(map(str, options.problems))} on {options.gpus} GPUs"
    how = "bit for bit" if options.tracked.has_fixed_sums else "within the bound"
    if result.passed:
        console.print("passed", style="bold green", end="")
        console.print(f": {shape}, {result.elements:,} elements {how}")
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
        f"{schedule.name} {schedule.operation}; {launches}{result.cycles:,} memory cycles in "
        f"{result.wall_s:.1f} s, {options.engine} engine, seed {options.seed}"
    )
