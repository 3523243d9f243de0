"""Simulations from Python: a sublayer of a known model, or a GEMM of any size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sysmodel.config.model import workload_of
from sysmodel.config.system import System, system_on
from sysmodel.config.topology_shapes import Topology
from sysmodel.config.workload import DtypeName, Workload, custom_gemm
from sysmodel.runs.options import RunOptions
from t3.report.progress import shown_progress

from .given import options_of, takes_options
from .result import Result

__all__ = ["gemm", "run"]


@takes_options(RunOptions)
def run(
    model: str | Path = "t-nlg",
    layer: str = "fc2",
    tp: int = 8,
    *,
    tokens: int | None = None,
    dtype: DtypeName = "fp16",
    system: System | Mapping[str, Any] | Path | str = "asplos24",
    topology: Topology | Mapping[str, Any] | Path | str | None = None,
    configurations: Sequence[str] | str | None = None,
    **options: Any,
) -> Result:
    """Simulate a model's sublayer: its GEMM, the reduce-scatter, the all-gather.

    Parameters
    ----------
    model : str or Path
        Name, as ``t3 models`` lists them, or TOML file (docs/models.md).
    layer : str
        Sublayer whose output is all-reduced: ``op``, ``fc1``, ``fc2`` or ``ip``, or a GEMM of the
        file.
    tp : int
        GPUs that share the layer, its degree of tensor parallelism.
    tokens : int, optional
        Rows of the output; if not given, the tokens of the model's batch.
    dtype : str
        Format of operands and output: ``fp16`` or ``bf16``.
    system : System, mapping, path or str
        Name of a preset, TOML file, dictionary or system; see :func:`t3.system`.
    topology : Topology, mapping, path or str, optional
        Links between the GPUs instead of the system's: name of a bundled topology, TOML file, or
        its content.
    configurations : sequence of str, optional
        Configurations to compare. By default those of T3, ``sequential``, the idealised ones, and
        the rivals that can run on the system.
    **options
        Fields of :class:`~sysmodel.runs.options.RunOptions`: ``engine``, ``channels``, ``gpus``,
        ``repeat``, ``seed`` and others.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        A value cannot be used; one line names it and the allowed values.
    SimulationError
        The hardware reports an error, or the simulation makes no progress.

    Examples
    --------
    >>> import t3
    >>> result = t3.run("mega-gpt-2", "op", tp=16, engine="golden")
    >>> result.table.loc["t3-mca", "speedup"] > 1
    np.True_
    """
    work = workload_of(model, layer, tp, tokens, dtype)
    return _simulated(work, system_on(system, topology), configurations, options)


@takes_options(RunOptions)
def gemm(
    m: int,
    n: int,
    k: int,
    *,
    tp: int = 8,
    dtype: DtypeName = "fp16",
    system: System | Mapping[str, Any] | Path | str = "asplos24",
    topology: Topology | Mapping[str, Any] | Path | str | None = None,
    configurations: Sequence[str] | str | None = None,
    **options: Any,
) -> Result:
    """Simulate a GEMM of any size whose output is all-reduced.

    Parameters
    ----------
    m, n : int
        Rows and columns of the output, which every GPU has as a whole.
    k : int
        Products that each element sums on one GPU: the share of the inner dimension that one of
        ``tp`` GPUs has.
    tp : int
        GPUs that share the output.
    dtype : str
        Format of operands and output: ``fp16`` or ``bf16``.
    system, topology, configurations, **options
        See :func:`run`.

    Returns
    -------
    Result

    Raises
    ------
    InputError, SimulationError
        See :func:`run`.

    Examples
    --------
    >>> import t3
    >>> result = t3.gemm(2048, 2048, 512, tp=4, engine="golden")
    >>> list(result.table.index)[:2]
    ['sequential', 'two-batch']
    """
    work = custom_gemm(m, n, k, tp, dtype)
    return _simulated(work, system_on(system, topology), configurations, options)


def _simulated(
    workload: Workload,
    loaded: System,
    configurations: Sequence[str] | str | None,
    options: dict[str, Any],
) -> Result:
    if configurations is not None:
        options = options | {"configurations": configurations}
    chosen = options_of(RunOptions, options)
    chosen.channels_of(loaded)
    with shown_progress() as progress:
        from sysmodel.runs.plan import Plan
        from sysmodel.runs.runnable import rivals_left_out, with_rivals
        from sysmodel.runs.sampling_error import with_errors
        from sysmodel.runs.simulate import simulate

        left_out: dict[str, str] = {}
        if configurations is None:
            left_out = rivals_left_out(workload, loaded, chosen)
            names = with_rivals(workload, loaded, chosen)
            chosen = replace(chosen, configurations=names)
        plan = Plan(workload, loaded, chosen)
        found = with_errors(plan, simulate(plan, progress), progress)
        return Result(replace(found, rivals_left_out=left_out))
