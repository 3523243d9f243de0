"""Whole models from Python: a training step and a prompt, with and without T3."""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sysmodel.config.arguments import checked, checked_path
from sysmodel.config.schema import one_of
from sysmodel.config.system import System, system_on
from sysmodel.config.topology_shapes import Topology
from sysmodel.config.workload import DtypeName
from sysmodel.runs.engines import ENGINES, EngineName

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ModelResult", "model"]

TABLE = "model.csv"
"""Name of the table in the folder of the results."""


class ModelResult:
    """Result of :func:`t3.model`.

    Attributes
    ----------
    table : DataFrame
        Row for each phase (``training``, ``prompt``) and configuration. ``layer_*_ns`` are the
        times of one layer's operators on one GPU, which sum to ``layer_ns``; ``model_ms`` is the
        time of all layers; ``speedup`` is the time of ``sequential`` over the row's, and
        ``speedup_over_rival`` that of the fastest configuration without T3.
    system : System
        System of the simulation.
    """

    def __init__(self, table: "pd.DataFrame", system: System):
        self.table, self.system = table, system

    @property
    def title(self) -> str:
        """Model, degree of tensor parallelism and system."""
        first = self.table.iloc[0]
        return f"{first['model']}, TP {first['tp']}, on {self.system.name}"

    @property
    def summary(self) -> "pd.DataFrame":
        """Times of all layers in ms and speedups, by phase and configuration."""
        shown = self.table.set_index(["phase", "configuration"])[
            ["model_ms", "speedup", "speedup_over_rival"]
        ]
        titles = {"model_ms": "all layers, ms", "speedup_over_rival": "over the fastest rival"}
        return shown.rename(columns=titles).round(3)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.summary.to_string()}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.title)}</p>{self.summary.to_html()}"


def model(
    model: str | Path,
    tp: int = 8,
    *,
    dtype: DtypeName = "fp16",
    system: System | Mapping[str, Any] | Path | str = "asplos24",
    topology: Topology | Mapping[str, Any] | Path | str | None = None,
    engine: EngineName = "golden",
    out: Path | str | None = None,
    workers: int | None = None,
) -> ModelResult:
    """Time a whole model with and without T3: a training step and a prompt, by operator.

    The all-reduced sublayers are simulated; docs/end-to-end.md gives the times of the others.

    Parameters
    ----------
    model : str or Path
        Transformer: a name, as ``t3 models`` lists them, or a TOML file (docs/models.md).
    tp : int
        GPUs that share each layer.
    dtype : str
        Format of operands and outputs: ``fp16`` or ``bf16``.
    system : System, mapping, path or str
        See :func:`t3.system`.
    topology : Topology, mapping, path or str, optional
        Links between the GPUs instead of the system's; see :func:`t3.run`.
    engine : str
        Engine of the T3 hardware: ``golden`` or ``rtl``.
    out : path, optional
        Folder for ``model.csv`` that also stores each simulation as it ends, so that the next call
        continues there. Without a folder only the result is returned.
    workers : int, optional
        Simulations at a time; one for each core unless given.

    Returns
    -------
    ModelResult

    Raises
    ------
    InputError
        A value cannot be used; the message names the argument and the allowed values.
    SimulationError
        Some simulations failed; the others are stored in ``out``.

    Examples
    --------
    >>> import t3
    >>> result = t3.model("mega-gpt-2", tp=16, workers=1)  # doctest: +SKIP
    >>> result.summary.loc[("training", "t3-critical"), "speedup"] > 1  # doctest: +SKIP
    np.True_
    """
    engine = checked("engine", engine, Annotated[EngineName, one_of(ENGINES)])
    loaded = system_on(system, topology)
    folder = None if out is None else checked_path("out", out)
    from sysmodel.lib.output import OutputFolder
    from t3.experiments.sweep.display import Display
    from t3.experiments.transformer.whole import whole_model

    with ExitStack() as stack:
        if folder is None:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="t3-model-"))
            folder = Path(name)
        output = stack.enter_context(OutputFolder(folder, (TABLE,)))
        table = whole_model(
            model,
            tp,
            loaded,
            folder,
            dtype=dtype,
            engine=engine,
            workers=workers,
            report=stack.enter_context(Display(folder)),
        )
        output.write({TABLE: table.to_csv(index=False, lineterminator="\n")})
        return ModelResult(table, loaded)
