"""Simulations from Python: a sublayer of a known model, or a GEMM of one's own."""

from pathlib import Path
from typing import Literal

from sysmodel.config.model import workload_of
from sysmodel.config.system import System
from sysmodel.config.workload import Workload, custom_gemm
from sysmodel.lib.progress import shown_progress
from sysmodel.runs.result import EngineName, RunOptions, SimulatedGpus

from .result import Result
from .systems import as_system

__all__ = ["gemm", "run"]


def run(
    model: str = "t-nlg",
    layer: str = "fc2",
    tp: int = 8,
    *,
    tokens: int | None = None,
    system: System | Path | str = "asplos24",
    configurations: tuple[str, ...] = RunOptions.configurations,
    engine: EngineName = RunOptions.engine,
    channels: int | Literal["auto", "all"] = RunOptions.channels,
    gpus: SimulatedGpus = RunOptions.gpus,
    repeat: int = RunOptions.repeat,
    seed: int = RunOptions.seed,
) -> Result:
    """Simulate a model's sublayer: its GEMM, the reduce-scatter, the all-gather.

    Parameters
    ----------
    model : str
        A name, as ``t3 models`` lists them, or a TOML file (docs/models.md).
    layer : str
        The sublayer whose output is all-reduced: ``op``, ``fc1``, ``fc2`` or ``ip``, or a GEMM of
        the file.
    tp : int
        GPUs that share the layer, its degree of tensor parallelism.
    tokens : int, optional
        Rows of the output; a batch of the model's if not given.
    system : System, path or str
        A preset's name, as ``t3 presets`` lists them, a TOML file, or what
        :func:`t3.load_system` gave.
    configurations : tuple of str
        What is compared, as ``t3 run --help`` lists it.
    engine : str
        ``rtl``, the compiled hardware, or ``golden``, the model in Numba, which needs no compiler.
    channels : int, "auto" or "all"
        Memory channels to simulate; a few stand for all.
    gpus : str
        ``mirror``: one GPU stands for all; or ``all``.
    repeat : int
        Repetitions, all but the first with what a real machine varies.
    seed : int
        Of what the repetitions vary.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        A value that cannot be used; one line that names it and says what is allowed.
    SimulationError
        The hardware reported an error, or nothing moves any more.

    Examples
    --------
    >>> import t3
    >>> result = t3.run("mega-gpt-2", "op", tp=16, engine="golden")
    >>> result.table.loc["t3-mca", "speedup"] > 1
    np.True_
    """
    workload = workload_of(model, layer, tp, tokens)
    return _simulated(
        workload,
        system,
        RunOptions(
            configurations=tuple(configurations),
            engine=engine,
            channels=channels,
            gpus=gpus,
            repeat=repeat,
            seed=seed,
        ),
    )


def gemm(
    m: int,
    n: int,
    k: int,
    *,
    tp: int = 8,
    dtype: str = "fp16",
    system: System | Path | str = "asplos24",
    configurations: tuple[str, ...] = RunOptions.configurations,
    engine: EngineName = RunOptions.engine,
    channels: int | Literal["auto", "all"] = RunOptions.channels,
    gpus: SimulatedGpus = RunOptions.gpus,
    repeat: int = RunOptions.repeat,
    seed: int = RunOptions.seed,
) -> Result:
    """Simulate a GEMM of any size whose output is all-reduced.

    Parameters
    ----------
    m, n : int
        Rows and columns of the output, which every GPU has as a whole.
    k : int
        Products that each element sums on one GPU: what is left of the inner dimension when ``tp``
        GPUs share it.
    tp : int
        GPUs of the ring.
    dtype : str
        ``fp16`` or ``bf16``, of operands and output.
    system, configurations, engine, channels, gpus, repeat, seed
        As in :func:`run`.

    Returns
    -------
    Result

    Raises
    ------
    InputError, SimulationError
        As in :func:`run`.

    Examples
    --------
    >>> import t3
    >>> result = t3.gemm(2048, 2048, 512, tp=4, engine="golden")
    >>> list(result.table.index)[:2]
    ['sequential', 't3']
    """
    return _simulated(
        custom_gemm(m, n, k, tp, dtype),
        system,
        RunOptions(
            configurations=tuple(configurations),
            engine=engine,
            channels=channels,
            gpus=gpus,
            repeat=repeat,
            seed=seed,
        ),
    )


def _simulated(workload: Workload, system: System | Path | str, options: RunOptions) -> Result:
    # It brings Numba, for which `import t3` shall not wait.
    from sysmodel.runs.simulate import run as simulate

    loaded = as_system(system)
    options.channels_of(loaded)
    with shown_progress() as progress:
        return Result(simulate(workload, loaded, options, progress))
