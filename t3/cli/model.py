"""Command ``t3 model``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.config.workload import DTYPES, DtypeName
from t3.library.modelling import TABLE
from t3.library.modelling import model as time_model

from .completion import models
from .options import (
    DTYPE_HELP,
    Engine,
    Out,
    SystemOption,
    TopologyOption,
    Workers,
    choice,
    integer_option,
)

if TYPE_CHECKING:
    import pandas as pd

    from t3.report.document import Table

__all__ = ["model"]


def model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml",
            help="Transformer: a name, see t3 models, or a TOML file.",
            autocompletion=models,
        ),
    ],
    tp: Annotated[int, integer_option("Degree of tensor parallelism.")] = 8,
    dtype: Annotated[DtypeName, choice(DTYPE_HELP, DTYPES)] = "fp16",
    system: SystemOption = "asplos24",
    topology: TopologyOption = None,
    engine: Engine = "golden",
    out: Out = Path("build/model"),
    workers: Workers = None,
) -> None:
    """Time a whole model with and without T3: a training step and a prompt, by operator.

    The all-reduced sublayers are simulated; docs/end-to-end.md gives the times of the others.
    Writes model.csv. Finished simulations are stored in the folder: after an interrupt the same
    command continues there.
    """
    result = time_model(
        model,
        tp,
        dtype=dtype,
        system=system,
        topology=topology,
        engine=engine,
        out=out,
        workers=workers,
    )
    from t3.report.terminal import terminal

    _print(result.table, result.system.name)
    terminal().print(f"  {out / TABLE}", style="cyan", soft_wrap=True)


def _print(table: "pd.DataFrame", system: str) -> None:
    from t3.report.terminal import shown_table, terminal

    for phase, of in table.groupby("phase", sort=False):
        first = of.iloc[0]
        title = f"{first['model']}, TP {first['tp']}, on {system}: {phase}, a layer in µs"
        screen = terminal()
        screen.print(shown_table(title, _times(of), gap=1))
        screen.print(f"Other operators, in all configurations: {_others(first)}.", soft_wrap=True)
        screen.print()


def _times(of: "pd.DataFrame") -> "Table":
    """Table of the times in which the configurations differ."""
    from t3.experiments.transformer.whole import SIMULATED_PARTS
    from t3.report.document import Table

    return Table(
        (
            *("configuration", *SIMULATED_PARTS.values(), "layer", "all layers, ms"),
            *("speedup", "over the fastest rival"),
        ),
        tuple(
            (
                str(row["configuration"]),
                *(f"{row[column] / 1e3:,.1f}" for column in (*SIMULATED_PARTS, "layer_ns")),
                f"{row['model_ms']:,.1f}",
                *(f"{row[column]:.3f}x" for column in ("speedup", "speedup_over_rival")),
            )
            for _, row in of.iterrows()
        ),
    )


def _others(row: "pd.Series") -> str:
    """Times of the operators that are the same in all configurations."""
    from t3.experiments.transformer.whole import OTHER_PARTS

    return ", ".join(
        f"{title} {row[column] / 1e3:,.1f}" for column, title in OTHER_PARTS.items() if row[column]
    )
