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
    from t3.experiments.transformer.whole import LAYER_PARTS
    from t3.report.terminal import terminal, terminal_table

    for phase, of in table.groupby("phase", sort=False):
        rows = of.set_index("configuration")
        first = rows.iloc[0]
        shown = terminal_table(
            f"{first['model']}, TP {first['tp']}, on {system}: {phase}, a layer in µs",
            *("operators", *(str(one).replace("-", "-\n") for one in rows.index)),
        )
        for column, title in LAYER_PARTS.items():
            if rows[column].any():
                shown.add_row(title, *(f"{value / 1e3:,.1f}" for value in rows[column]))
        shown.add_section()
        shown.add_row("layer", *(f"{value / 1e3:,.1f}" for value in rows["layer_ns"]))
        shown.add_row("all layers, ms", *(f"{value:,.1f}" for value in rows["model_ms"]))
        for title, column in (
            ("speedup", "speedup"),
            ("over the fastest rival", "speedup_over_rival"),
        ):
            shown.add_row(title, *(f"{value:.3f}x" for value in rows[column]))
        terminal().print(shown)
