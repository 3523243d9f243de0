"""One memory channel from Python: bandwidth, row hits and latency of a pattern or a trace."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.config.system import System, load_system
from t3.experiments.dram.options import DramOptions, PatternName
from t3.report.progress import shown_progress

from .given import options_of, takes_options

if TYPE_CHECKING:
    import pandas as pd

    from t3.experiments.dram.serve import Served

__all__ = ["DramResult", "dram"]


class DramResult:
    """Result of :func:`t3.dram`.

    Attributes
    ----------
    served : Served
        Counts, and the cycle of each request, as arrays.
    system : System
        System with the memory.
    title : str
        Pattern or trace.
    """

    def __init__(self, served: "Served", system: System, title: str):
        self.served, self.system, self.title = served, system, title

    def as_dict(self) -> dict[str, Any]:
        """Figures of one HBM channel, with units in the keys, as ``t3 dram --json`` prints them."""
        from t3.experiments.dram.table import as_dict

        return as_dict(self.served, self.system)

    @property
    def table(self) -> "pd.Series[float]":
        """Figures of one HBM channel; the index contains the units."""
        import pandas as pd

        from sysmodel.lib.dotted import dotted

        return pd.Series(dict(dotted(self.as_dict())), name=self.title)

    def __repr__(self) -> str:
        title = f"One HBM channel of {self.system.name}: {self.title}"
        return f"{title}\n{self.table.to_string()}"

    def _repr_html_(self) -> str:
        return str(self.table.to_frame().to_html())


@takes_options(DramOptions)
def dram(
    pattern: PatternName | None = None,
    *,
    system: System | Mapping[str, Any] | Path | str = "asplos24",
    **options: Any,
) -> DramResult:
    """Serve a pattern or a trace with one HBM channel of a system.

    Addresses are local to the channel. Requests are offered in order; a request that finds the
    queue full blocks the requests behind it.

    Parameters
    ----------
    pattern : str, optional
        ``read``, ``write``, ``update``, ``mix``, ``random-read`` or ``random-write``; not beside
        ``trace``.
    system : System, mapping, path or str
        See :func:`t3.system`.
    **options
        Fields of :class:`~t3.experiments.dram.options.DramOptions`: ``trace``, ``ratio``,
        ``stride``, ``requests``, ``queue`` and others.

    Returns
    -------
    DramResult

    Raises
    ------
    InputError
        A value cannot be used; the message names the argument and the allowed values.

    Examples
    --------
    >>> import t3
    >>> stream = t3.dram("read", requests=2000)
    >>> mix = t3.dram("mix", ratio="2:1", requests=2000, system="h200")
    >>> 0.9 < stream.as_dict()["share_of_peak"] <= 1
    True
    """
    chosen = options_of(DramOptions, {"pattern": pattern, **options})
    loaded = load_system(system)
    with shown_progress():
        from t3.experiments.dram.request import served

        return DramResult(served(chosen, loaded), loaded, str(chosen.trace or chosen.pattern))
