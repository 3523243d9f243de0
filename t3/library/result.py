"""A finished run, for notebooks and scripts."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sysmodel.runs.result import RunResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]

_SHOWN = {
    "gemm_ns": "GEMM, µs",
    "rs_ns": "RS, µs",
    "ag_ns": "AG, µs",
    "overlapped_communication_ns": "hidden, µs",
    "exposed_communication_ns": "exposed, µs",
    "total_ns": "total, µs",
    "speedup": "speedup",
}


class Result:
    """What :func:`t3.run` and :func:`t3.gemm` give.

    In a notebook it shows itself as a table and a picture.

    Parameters
    ----------
    run : RunResult

    Attributes
    ----------
    run : RunResult
        Everything, by name: workload, system, options, results of each configuration.
    """

    def __init__(self, run: RunResult):
        self.run = run

    @cached_property
    def table(self) -> "pd.DataFrame":
        """A row for each configuration: times in ns, bytes and energies in J of one GPU.

        Columns are those of a sweep's table (docs/sweeps.md): ``gemm_ns``, ``total_ns``,
        ``speedup``, ``dram_total_bytes``, ``link_rs_bytes``, ``energy_total_j`` and so on.
        """
        import pandas as pd

        from t3.experiments.sweep.rows import measured

        made = pd.DataFrame.from_dict(measured(self.run), orient="index")
        made.index.name = "configuration"
        return made

    @cached_property
    def timeline(self) -> "pd.DataFrame":
        """What lasts: a row for each GEMM stage, reduce-scatter, DMA burst, with its track.

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
        """What bounds each phase: a row for each configuration and phase, with how busy pipes,
        memory and link are while it lasts, as shares of their peaks, what the link does or waits
        for, as shares of the time (``link_link``, ``link_memory``...), and what it is bound ``by``.

        :class:`sysmodel.runs.bounds.Bound` says what the words mean.
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
        """What the GEMM's workgroup slots spend their time on: a row for each configuration, the
        shares of :class:`sysmodel.runs.slots.SlotTimes`."""
        import pandas as pd

        found = {name: one.gemm_slots.shares for name, one in self.run.configurations.items()}
        made = pd.DataFrame.from_dict(found, orient="index")
        made.index.name = "configuration"
        return made

    def roofline(self) -> "Figure":
        """How fast each configuration's GEMM is, over the bytes of memory that it takes for that:
        a Matplotlib figure."""
        from sysmodel.runs.roofline import roofline_figure

        return roofline_figure(self.run)

    def plot(self) -> "Figure":
        """Where each configuration's time goes: a Matplotlib figure of stacked bars."""
        from sysmodel.runs.plots import configurations_figure

        return configurations_figure(self.run)

    def as_dict(self) -> dict[str, Any]:
        """Content of ``result.json``, as ``t3 run`` writes it."""
        return self.run.as_dict()

    def save_trace(self, path: Path | str) -> None:
        """Write a timeline for Perfetto (https://ui.perfetto.dev).

        Parameters
        ----------
        path : path
            A JSON file.
        """
        from sysmodel.lib.output import write_json
        from sysmodel.runs.timeline import trace

        write_json(Path(path), trace(self.run.timelines, self.run.workload.title), indent=None)

    def save_report(self, path: Path | str) -> None:
        """Write a page to look at: times, what bounds them, traffic over time, the ring.

        Parameters
        ----------
        path : path
            An HTML file, which needs nothing else.
        """
        from t3.report.run import run_page

        Path(path).write_text(run_page(self.run), encoding="utf-8")

    @property
    def summary(self) -> "pd.DataFrame":
        """Times in µs and speedups, rounded for reading."""
        shown = self.table[list(_SHOWN)].copy()
        shown[[name for name in _SHOWN if name.endswith("_ns")]] /= 1e3
        return shown.rename(columns=_SHOWN).round(3)

    def __repr__(self) -> str:
        return f"{self.run.workload.title} on {self.run.system.name}\n{self.summary.to_string()}"

    def _repr_html_(self) -> str:
        from html import escape

        title = escape(f"{self.run.workload.title} on {self.run.system.name}")
        return f"<p>{title}</p>{self.summary.to_html()}{self._svg()}"

    def _svg(self) -> str:
        from io import StringIO

        text = StringIO()
        self.plot().savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()[text.getvalue().index("<svg") :]
