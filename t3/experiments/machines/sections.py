"""Sections of the matrix: a summary, a table of sublayers for each system, and sampling."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from statistics import geometric_mean

import pandas as pd

from sysmodel.config.system import load_system
from sysmodel.runs.rivals import rivals_among
from sysmodel.runs.run_network import RunNetwork
from t3.experiments.sweep.payload import payload_share
from t3.report.document import Section, Table
from t3.report.units import counted

from .measure import Matrix

__all__ = ["INTRODUCTION", "TITLE", "sections", "summary"]

TITLE = "Today's models on today's GPUs"
INTRODUCTION = (
    "Sublayers whose output is all-reduced, on eight GPUs joined by the system's topology, "
    "simulated by the golden engine. `t3 presets NAME` shows which values of a system come from a "
    "data sheet and which are assumed; `t3 models` shows the models."
)

_BEST, _OTHERS, _IDEAL, _LEAST = "t3-critical", ("t3", "t3-mca"), "ideal-overlap", "ideal"
_SPEEDUPS = (*_OTHERS, _BEST, _IDEAL)
_BEHIND_PERCENT = 1.0
_GPUS = 8


def sections(matrix: Matrix) -> list[Section]:
    """Make the sections of the full page, in order."""
    tables = [_Rows(matrix.table, str(name)) for name in dict.fromkeys(matrix.table["system"])]
    return [
        _summary(tables),
        *map(_of_system, tables),
        _sampling(matrix.sampled),
    ]


def summary(found: list[Section]) -> list[Section]:
    """Select the sections of the committed page: the means with every exceeded bound, and the
    sample.
    """
    means, *systems, sampled = found
    broken = tuple(f"{one.title}: {line}" for one in systems for line in one.broken)
    text = f"{means.text} `t3 machines` also writes the full page, with each sublayer of a system."
    return [replace(means, text=text, broken=broken), sampled]


class _Rows:
    """Rows of one system, by sublayer."""

    def __init__(self, table: pd.DataFrame, system: str):
        self.system = load_system(system)
        rows = table[table["system"] == system]
        keys = ["model", "layer", "tp", "m", "n", "k"]
        self.sublayers = [
            (key, rows_of.set_index("configuration"))
            for key, rows_of in rows.groupby(keys, sort=False)
        ]
        self._rivals = rivals_among(set(table["configuration"]))

    @cached_property
    def network(self) -> RunNetwork:
        return RunNetwork(self.system, _GPUS)

    def speedups(self, name: str) -> list[float]:
        return [rows.loc[name, "speedup"] for _, rows in self.sublayers]

    def fastest_rival(self, rows: pd.DataFrame) -> tuple[str, float]:
        """Fastest rival of a sublayer, and its time in ns."""
        times = rows.loc[rows.index.isin(self._rivals), "total_ns"]
        return str(times.idxmin()), float(times.min())

    def rival_speedups(self) -> list[float]:
        """Speedup of each sublayer's fastest rival over ``sequential``."""
        return [
            rows.loc["sequential", "total_ns"] / self.fastest_rival(rows)[1]
            for _, rows in self.sublayers
        ]

    def over_rival(self) -> list[float]:
        """Speedup of our best policy over each sublayer's fastest rival."""
        return [
            self.fastest_rival(rows)[1] / rows.loc[_BEST, "total_ns"] for _, rows in self.sublayers
        ]

    def payload_shares(self) -> list[float]:
        """Share of the line that is payload in the packets of each sublayer's reduce-scatter."""
        return [payload_share(rows.loc[_BEST]) for _, rows in self.sublayers]

    def behind_percent(self) -> list[float]:
        """Excess of our best policy's time over the best of the others, in percent."""
        return [
            100 * (rows.loc[_BEST, "total_ns"] / rows.loc[list(_OTHERS), "total_ns"].min() - 1)
            for _, rows in self.sublayers
        ]


def _summary(tables: list[_Rows]) -> Section:
    rows = []
    for one in tables:
        means = [geometric_mean(one.speedups(configuration)) for configuration in _SPEEDUPS]
        share = means[_SPEEDUPS.index(_BEST)] / means[-1]
        ratios = one.over_rival()
        rows.append(
            (
                one.system.name,
                str(len(one.sublayers)),
                *(f"{mean:.3f}x" for mean in means),
                f"{geometric_mean(one.rival_speedups()):.3f}x",
                f"{geometric_mean(ratios):.3f}x",
                f"{sum(ratio > 1 for ratio in ratios)} of {len(ratios)}",
                f"{share:.1%}",
                f"{geometric_mean(one.payload_shares()):.0%}",
                f"{max(one.behind_percent()):+.2f} %",
            )
        )
    return Section(
        title="Summary",
        text=(
            "Geometric means of the speedup over `sequential`. *Rival* is that of each sublayer's "
            "fastest [configuration that needs no T3](software-overlap.md), *over it* the speedup "
            f"of `{_BEST}` over this rival, and *wins* the sublayers where it is faster. *Of "
            f"ideal* is the speedup of `{_BEST}` as a share of the speedup of `{_IDEAL}`, in which "
            "GEMM and reduce-scatter do not slow each other. The collectives of "
            f"`{_IDEAL}` are those of `sequential`, so "
            "the share exceeds 100 % where these kernels are slower than the DMA engine. *Behind* "
            f"is the largest excess of `{_BEST}`'s time over the better of the other two policies; "
            f"its bound is {_BEHIND_PERCENT:g} %. *Payload* is the share of the line that is "
            f"payload in the packets of `{_BEST}`'s reduce-scatter; `asplos24` counts no headers."
            + "".join(_unused(tables))
        ),
        table=Table(
            (
                *("system", "sublayers", *_SPEEDUPS),
                *("rival", "over it", "wins", "of ideal", "payload", "behind"),
            ),
            tuple(rows),
            text_columns=1,
        ),
    )


def _unused(tables: list[_Rows]) -> Iterator[str]:
    """Yield a sentence for each system of whose links T3 uses fewer than the library."""
    for one in tables:
        if one.network.unused:
            yield f" On `{one.system.name}`, {one.network.unused}"


def _of_system(one: _Rows) -> Section:
    system, rows, broken = one.system, [], []
    behind = one.behind_percent()
    unused = one.network.unused
    t3_gb_per_s = one.network.t3_gb_per_s
    for (key, of), late in zip(one.sublayers, behind, strict=True):
        model, layer, tp, m, n, k = key
        best = of.loc[_BEST]
        rival, rival_ns = one.fastest_rival(of)
        rows.append(
            (
                f"{model} {layer}",
                f"{m} x {n} x {k}",
                f"{of.loc['sequential', 'total_ns'] / 1e3:,.0f}",
                *(f"{of.loc[name, 'speedup']:.3f}" for name in _SPEEDUPS),
                *(f"{ns / 1e3:,.0f}" for ns in (best["total_ns"], rival_ns)),
                rival,
                f"{rival_ns / best['total_ns']:.3f}",
                f"{best['speedup'] / of.loc[_IDEAL, 'speedup']:.1%}",
                f"{late:+.2f}",
                *_shares(best),
                _bound(best, t3_gb_per_s),
                _how(best),
            )
        )
        if _LEAST in of.index:
            least_ns = of.loc[_LEAST, "total_ns"]
            faster = of.index[of["total_ns"] < least_ns]
            broken += [f"{model} {layer}: {name} is faster than {_LEAST}" for name in faster]
        if late > _BEHIND_PERCENT:
            broken.append(f"{model} {layer}: {_BEST} is {late:.2f} % behind the best of the others")
    return Section(
        title=system.name,
        text=(
            f"{system.description}. {f'{unused} ' if unused else ''}Times of `sequential` in µs; "
            f"speedups; times of `{_BEST}` and of its fastest rival in µs, and the speedup over "
            f"that; shares of `{_BEST}`'s time: the GEMM, what of the reduce-scatter comes "
            "after it, the all-gather, which nothing hides. *Bound*: what the largest of them goes "
            "at, the GEMM's share of the matrix pipes' peak or the all-gather's of T3's links."
        ),
        table=Table(
            headings=(
                *("sublayer", "M x N x K", "sequential", *_SPEEDUPS, f"{_BEST} (µs)"),
                *("rival (µs)", "rival:", "over it", "of ideal", "behind (%)"),
                *("GEMM (%)", "RS after it (%)", "AG (%)", "bound:", "simulated:"),
            ),
            rows=tuple(rows),
        ),
        broken=tuple(broken),
    )


def _shares(one: pd.Series) -> tuple[str, ...]:
    after = one["total_ns"] - one["gemm_ns"] - one["ag_ns"]
    return tuple(
        f"{100 * part / one['total_ns']:.0f}" for part in (one["gemm_ns"], after, one["ag_ns"])
    )


def _bound(one: pd.Series, link_gb_per_s: float) -> str:
    """Largest part of the time, and the share of its limit that it reaches."""
    if one["gemm_ns"] >= one["total_ns"] - one["gemm_ns"]:
        return f"pipes {one['gemm_efficiency'] / one['gemm_slowdown']:.0%}"
    sent = one["link_ag_bytes"] + one["link_ag_overhead_bytes"]
    return f"link {sent / one['ag_ns'] / link_gb_per_s:.0%}"


def _how(one: pd.Series) -> str:
    """Describe simulated channels, launches and extrapolation."""
    parts = [counted(one["simulated_channels"], "channel")]
    if one["launches"] > 1:
        parts.append(f"{one['launches']:.0f} launches")
    if one["extrapolated"]:
        parts.append("extrapolated")
    return ", ".join(parts)


def _sampling(table: pd.DataFrame) -> Section:
    rows = []
    for name in dict.fromkeys(table["system"]):
        for configuration in dict.fromkeys(table["configuration"]):
            of = table[(table["system"] == name) & (table["configuration"] == configuration)]
            of = of.sort_values("simulated_channels")
            sampled, whole = of.iloc[0], of.iloc[-1]
            rows.append(
                (
                    name,
                    configuration,
                    f"{sampled['simulated_channels']:.0f} of {whole['simulated_channels']:.0f}",
                    f"{100 * (sampled['gemm_ns'] / whole['gemm_ns'] - 1):+.1f}",
                    f"{100 * (sampled['total_ns'] / whole['total_ns'] - 1):+.1f}",
                    f"{sampled['speedup']:.3f}",
                    f"{whole['speedup']:.3f}",
                )
            )
    return Section(
        title="Sampled channels against all",
        text=(
            "The other tables simulate as many channels as are little work, at least the fewest "
            "that stand for all. A workgroup, and a tile on its way through the GPUs, then waits "
            "for the slowest of these channels only. "
            "This table has T-NLG FC-2 with the sample and with all channels; GEMM and total are "
            "the sample's differences in %. A system of which every GPU is simulated is left out, "
            "because all channels of all GPUs take most of an hour."
        ),
        table=Table(
            headings=(
                *("system", "configuration", "channels", "GEMM", "total"),
                *("speedup", "with all"),
            ),
            rows=tuple(rows),
            text_columns=2,
        ),
    )
