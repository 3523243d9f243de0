"""Finished run, for notebooks and scripts."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.config.arguments import checked_path
from sysmodel.runs.columns import catalogue, measured
from sysmodel.runs.result import RunResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]

_TOTALS = (
    *("overlapped_communication_ns", "exposed_communication_ns", "total_ns"),
    *("speedup", "speedup_over_rival"),
)


class Result:
    """Result of :func:`t3.run` and :func:`t3.gemm`.

    A notebook shows it as a table and a picture.

    Attributes
    ----------
    run : RunResult
        Workload, system, options and the results of each configuration.
    """

    def __init__(self, run: RunResult):
        self.run = run

    @cached_property
    def table(self) -> "pd.DataFrame":
        """Row for each configuration: times in ns, bytes and energies in J of one GPU.

        :func:`sysmodel.runs.columns.catalogue` lists the columns: ``gemm_ns``, ``total_ns``,
        ``speedup``, ``dram_total_bytes``, ``link_rs_bytes``, ``energy_total_j`` and so on.
        """
        import pandas as pd

        made = pd.DataFrame.from_dict(measured(self.run), orient="index")
        made.index.name = "configuration"
        return made

    @property
    def fastest_rival(self) -> str:
        """Fastest configuration among those that GPUs of today can run: ``sequential``, and others
        of the run."""
        return self.run.fastest_rival

    @cached_property
    def timeline(self) -> "pd.DataFrame":
        """Row for each GEMM stage, collective and DMA burst, with its track.

        Columns: ``configuration``, ``track``, ``name``, ``start_ns``, ``end_ns``.
        """
        import pandas as pd

        rows = [
            {"configuration": name, **vars(span)}
            for name, timeline in self.run.timelines.items()
            for span in timeline.spans
        ]
        order = ["configuration", "track", "name", "start_ns", "end_ns"]
        return pd.DataFrame(rows, columns=order)

    @cached_property
    def bounds(self) -> "pd.DataFrame":
        """Bound of each phase: a row for each configuration and phase.

        The columns are the shares of their peaks at which pipes, memory and link run, the shares of
        the time in each state of the link (``link_link``, ``link_memory``...), and the bound
        (``by``); :class:`sysmodel.runs.bounds.Bound` defines them.
        """
        import pandas as pd

        from sysmodel.machine.wire import WIRE_STATES
        from sysmodel.runs.bounds import bounds

        rows = [
            {"configuration": one.configuration, "phase": one.phase}
            | one.busy
            | {f"link_{what}": share for what, share in one.link_time.items()}
            | {"by": one.by}
            for one in bounds(self.run)
        ]
        waits = (f"link_{what}" for what in WIRE_STATES)
        order = ["configuration", "phase", "pipes", "memory", "link", *waits, "by"]
        return pd.DataFrame(rows, columns=order).set_index(["configuration", "phase"])

    @cached_property
    def slots(self) -> "pd.DataFrame":
        """Shares of the time that the GEMM's workgroup slots spend in each state of
        :class:`sysmodel.runs.slots.SlotTimes`: a row for each configuration, and GEMM if the
        program has several."""
        import pandas as pd

        several = len(self.run.program.gemms) > 1
        found = {
            (name, gemm) if several else name: times.slots.shares
            for name, one in self.run.configurations.items()
            for gemm, times in one.gemms.items()
        }
        made = pd.DataFrame.from_dict(found, orient="index")
        made.index.names = ["configuration", "gemm"] if several else ["configuration"]
        return made

    def roofline(self) -> "Figure":
        """Matplotlib figure of the GEMM's rate over its memory traffic, for each configuration."""
        from t3.report.roofline import roofline_picture

        return roofline_picture(self.run)

    def plot(self) -> "Figure":
        """Matplotlib figure of the parts of each configuration's time, as stacked bars."""
        from t3.report.bars import bars_picture

        return bars_picture(self.run)

    def as_dict(self) -> dict[str, Any]:
        """Content of ``result.json``, as ``t3 run`` writes it."""
        return self.run.as_dict()

    def save_trace(self, path: Path | str) -> None:
        """Write a timeline for Perfetto (https://ui.perfetto.dev).

        Parameters
        ----------
        path : path
            JSON file.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        from sysmodel.lib.output import write_json, writing
        from sysmodel.runs.timeline import trace

        path = checked_path("path", path)
        with writing(path, "path"):
            write_json(path, trace(self.run.timelines, self.run.title), indent=None)

    def save_report(self, path: Path | str) -> None:
        """Write a page: times and their bounds, traffic over time, the chunks on their way.

        Parameters
        ----------
        path : path
            HTML file, which needs no other file.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        from sysmodel.lib.output import write_text, writing
        from t3.report.run import run_page

        path = checked_path("path", path)
        with writing(path, "path"):
            write_text(path, run_page(self.run))

    @property
    def summary(self) -> "pd.DataFrame":
        """Times in µs and speedups, rounded for reading."""
        keys = [*(f"{name}_ns" for name in self.run.program.names), *_TOTALS]
        shown = self.table[keys].copy()
        known = catalogue(self.run.program).by_key
        columns = [known[key] for key in keys]
        shown[[one.key for one in columns if one.unit == "ns"]] /= 1e3
        titles = {one.key: f"{one.title}, µs" if one.unit == "ns" else one.title for one in columns}
        return shown.rename(columns=titles).round(3)

    def __repr__(self) -> str:
        return f"{self.run.title} on {self.run.system.name}\n{self.summary.to_string()}"

    def _repr_html_(self) -> str:
        from html import escape

        title = escape(f"{self.run.title} on {self.run.system.name}")
        return f"<p>{title}</p>{self.summary.to_html()}{self._svg()}"

    def _svg(self) -> str:
        from io import StringIO

        text = StringIO()
        self.plot().savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()[text.getvalue().index("<svg") :]
