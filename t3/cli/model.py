"""``t3 model``."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from sysmodel.lib.output import write_text
from t3.experiments.sweep.display import Display
from t3.experiments.transformer.whole import LAYER_PARTS, whole_model
from t3.report.terminal import terminal, terminal_table

from .options import Engine, Out, SystemOption, Workers, integer_option
from .output import writing

__all__ = ["model"]

_TABLE = "model.csv"


def model(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml", help="Transformer: a name, see t3 models, or a TOML file."
        ),
    ],
    tp: Annotated[int, integer_option("Degree of tensor parallelism.")] = 8,
    system: SystemOption = "asplos24",
    engine: Engine = "golden",
    out: Out = Path("build/model"),
    workers: Workers = None,
) -> None:
    """Time a whole model with and without T3: a training step and a prompt, by operator.

    The all-reduced sublayers are simulated; docs/end-to-end.md gives the times of the others.
    Writes model.csv. Finished simulations are stored in the folder: after an interrupt the same
    command continues there.
    """
    with Display(out) as display:
        table = whole_model(name, tp, system, out, engine=engine, workers=workers, report=display)
    _print(table, system)
    with writing(out):
        write_text(out / _TABLE, table.to_csv(index=False, lineterminator="\n"))
    terminal().print(f"  {out / _TABLE}", style="cyan", soft_wrap=True, markup=False)


def _print(table: pd.DataFrame, system: str) -> None:
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
        shown.add_row("speedup", *(f"{value:.3f}x" for value in rows["speedup"]))
        terminal().print(shown)
