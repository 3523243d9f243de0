"""``t3 model``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysmodel.lib.terminal import terminal, terminal_table

from .options import Engine, Out, SystemOption, Workers, integer_option
from .output import writing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["model"]

_TABLE = "model.csv"


def model(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE.toml", help="A Transformer; see t3 models.")
    ],
    tp: Annotated[int, integer_option("GPUs that share each layer.")] = 8,
    system: SystemOption = "asplos24",
    engine: Engine = "golden",
    out: Out = Path("build/model"),
    workers: Workers = None,
) -> None:
    """Time a whole model with and without T3: a training step and a prompt, by operator.

    The all-reduced sublayers are simulated, everything else takes what docs/end-to-end.md says.
    Writes model.csv; what is simulated is kept in the folder, and the same command goes on there.
    """
    # They bring Dask, pandas and Numba, for which other commands shall not wait.
    from t3.experiments.sweep.display import Display
    from t3.experiments.transformer.whole import whole_model

    with Display(out) as display:
        table = whole_model(name, tp, system, out, engine=engine, workers=workers, report=display)
    _print(table, system)
    with writing(out):
        temporary = out / f".{_TABLE}"
        table.to_csv(temporary, index=False, lineterminator="\n")
        temporary.replace(out / _TABLE)
    terminal().print(f"  {out / _TABLE}", style="cyan", soft_wrap=True, markup=False)


def _print(table: "pd.DataFrame", system: str) -> None:
    from t3.experiments.transformer.whole import PARTS

    for phase, of in table.groupby("phase", sort=False):
        rows = of.set_index("configuration")
        first = rows.iloc[0]
        shown = terminal_table(
            f"{first['model']}, TP {first['tp']}, on {system}: {phase}, a layer in µs",
            *("operators", *(str(one).replace("-", "-\n") for one in rows.index)),
        )
        for column, what in PARTS.items():
            if rows[column].any():
                shown.add_row(what, *(f"{value / 1e3:,.1f}" for value in rows[column]))
        shown.add_section()
        shown.add_row("layer", *(f"{value / 1e3:,.1f}" for value in rows["layer_ns"]))
        shown.add_row("all layers, ms", *(f"{value:,.1f}" for value in rows["model_ms"]))
        shown.add_row("speedup", *(f"{value:.3f}x" for value in rows["speedup"]))
        terminal().print(shown)
