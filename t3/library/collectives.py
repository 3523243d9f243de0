"""Collectives from Python: the time of a schedule on compute units."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysmodel.collectives.plans import is_plan
from sysmodel.collectives.schedule import Operation
from sysmodel.collectives.sizes import read_sizes
from sysmodel.collectives.sources import schedule_of
from sysmodel.config.system import System, system_on
from sysmodel.config.topology_shapes import Topology
from sysmodel.lib.errors import InputError
from sysmodel.runs.collective_result import CollectiveResult
from t3.report.progress import shown_progress

__all__ = ["collective"]


def collective(
    source: str | Path = "ring",
    operation: Operation | None = None,
    *,
    message_bytes: int | None = None,
    sizes: Sequence[Sequence[int]] | Path | str | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    topology: Topology | Mapping[str, Any] | Path | str | None = None,
    system: System | Mapping[str, Any] | Path | str = "asplos24",
    channels: int | None = None,
) -> CollectiveResult:
    """Simulate a collective alone, by kernels on the compute units.

    Parameters
    ----------
    source : str or Path
        Name of an algorithm, or path of an MSCCL file or an MSCCL++ plan.
    operation : str, optional
        Operation of the algorithm; the default is the first one that it has, and with ``sizes`` an
        all-to-all.
    message_bytes : int, optional
        Size as nccl-tests count it: a rank's whole input, or the result of an all-gather. The
        default is 64 MiB.
    sizes : sequence of sequences, or path, optional
        Instead of ``message_bytes``, the bytes that each rank of an all-to-all-v has for each rank,
        ``sizes[sender][receiver]``, or a file with these rows.
    ranks : int, optional
        Number of GPUs; the default is 8, or that of the file or of ``sizes``.
    ranks_per_node : int, optional
        GPUs of a node, for algorithms with two levels.
    topology : Topology, mapping, path or str, optional
        Name of a bundled topology, path of a TOML file, or its content; by default the system's.
    system : System, mapping, path or str
        See :func:`t3.system`.
    channels : int, optional
        Simulated memory channels; by default as many as take little time.

    Returns
    -------
    CollectiveResult

    Raises
    ------
    InputError
        A value cannot be used, the schedule is not sound, or the topology has no link that the
        schedule needs.

    Examples
    --------
    >>> import t3
    >>> found = t3.collective("direct", "all-to-all", topology="switch")  # doctest: +SKIP
    >>> found.bus_gb_per_s  # doctest: +SKIP
    """
    from sysmodel.runs.collective_alone import simulate_collective

    message: int | Sequence[Sequence[int]] = 64 << 20 if message_bytes is None else message_bytes
    if sizes is not None:
        if message_bytes is not None:
            raise InputError("bytes", f"{message_bytes} is not allowed with sizes; allowed: none")
        message = read_sizes(Path(sizes)) if isinstance(sizes, str | Path) else sizes
        if not is_plan(str(source)):
            operation, ranks = operation or "all-to-all", ranks or len(message)
    schedule = schedule_of(source, operation, ranks, ranks_per_node)
    loaded = system_on(system, topology)
    with shown_progress() as report:
        return simulate_collective(
            loaded,
            schedule,
            message,
            topology=loaded.topology,
            channels=channels,
            report=report,
        )
