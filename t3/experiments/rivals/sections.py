"""Sections on T3 and its rivals: a summary, and a table of pairs for each system."""

from collections.abc import Iterator
from functools import cached_property
from statistics import geometric_mean
from typing import Any, NamedTuple

import pandas as pd

from sysmodel.config.system import System, load_system
from t3.experiments.sweep.payload import payload_share
from t3.report.document import MISSING, Section, Table

from .measure import BEST, BOUND, RIVALS, TRACKED

__all__ = ["INTRODUCTION", "TITLE", "sections"]

TITLE = "T3 and its rivals"
INTRODUCTION = (
    "Two GEMMs of a layer with an all-reduce between them, on eight GPUs, simulated by the golden "
    "engine: the output projection and the first feed-forward GEMM, the second one and the next "
    "layer's projection to queries, keys and values. *Rivals* are configurations that GPUs of "
    "today can run; [overlap by software](software-overlap.md) describes them. `cu-split-8` and "
    "`cu-split-16` are left out, since they need a second batch; `two-batch` halves the pair's own."
)
_HEADINGS = ("pair", "M x N x K", *RIVALS, *TRACKED, BOUND, "fastest:", "over it")


class _Row(NamedTuple):
    """Pair on a system: total times in ns by configuration, and the share of the line that is
    payload in the packets of T3's reduce-scatter."""

    title: str
    size: str
    totals: dict[str, float]
    payload_share: float

    @property
    def rival(self) -> str:
        """Fastest rival."""
        return min((one for one in RIVALS if one in self.totals), key=self.totals.__getitem__)

    def speedup(self, name: str, base: str) -> float:
        """Speedup of a configuration over the configuration ``base``."""
        return self.totals[base] / self.totals[name]


class _Rows:
    """Pairs on one system."""

    def __init__(self, table: pd.DataFrame, name: str):
        self.system: System = load_system(name)
        self._table = table[table["system"] == name]

    @cached_property
    def rows(self) -> list[_Row]:
        keys = ["model", "layer", "program", "m", "n", "k"]
        return [_row(key, of) for key, of in self._table.groupby(keys, sort=False)]


def _row(key: Any, of: pd.DataFrame) -> _Row:
    model, _, program, m, n, k = key
    by_name = of.set_index("configuration")
    return _Row(
        title=f"{model} {str(program).replace('-', ' to ', 1)}",
        size=f"{m} x {n} x {k}",
        totals={str(name): float(ns) for name, ns in by_name["total_ns"].items()},
        payload_share=payload_share(by_name.loc[BEST]),
    )


def sections(table: pd.DataFrame) -> list[Section]:
    """Make the sections of the page, in order."""
    systems = [_Rows(table, str(name)) for name in dict.fromkeys(table["system"])]
    return [_summary(systems), *map(_of_system, systems)]


def _summary(systems: list[_Rows]) -> Section:
    first = RIVALS[0]
    rows = []
    for one in systems:
        over_rival = [row.speedup(BEST, row.rival) for row in one.rows]
        fastest = sorted({row.rival for row in one.rows}, key=RIVALS.index)
        rows.append(
            (
                one.system.name,
                f"{geometric_mean([row.speedup(BEST, first) for row in one.rows]):.3f}x",
                f"{geometric_mean([row.speedup(row.rival, first) for row in one.rows]):.3f}x",
                f"{geometric_mean(over_rival):.3f}x",
                f"{sum(ratio > 1 for ratio in over_rival)} of {len(over_rival)}",
                f"{geometric_mean([row.speedup(BEST, BOUND) for row in one.rows]):.0%}",
                f"{geometric_mean([row.payload_share for row in one.rows]):.0%}",
                ", ".join(fastest),
            )
        )
    return Section(
        title="Summary",
        text=(
            "Geometric means over the pairs; *rival* is the fastest one of each pair. *T3* is "
            f"`{BEST}`. *Of the bound* is the share of `{BOUND}`'s speedup that T3 reaches. "
            "*Payload* is the share of the line that is payload in the packets of T3's "
            "reduce-scatter: [full packets](frame.md) of eight atoms would reach 92 %."
        ),
        table=Table(
            (
                *("system", "T3 over sequential", "rival over sequential", "T3 over rival"),
                *("T3 wins", "of the bound", "payload", "fastest rivals:"),
            ),
            tuple(rows),
            text_columns=1,
        ),
    )


def _of_system(one: _Rows) -> Section:
    return Section(
        title=one.system.name,
        text=(
            f"{one.system.description}. Times from the start of the first GEMM to the end of the "
            f"second one, in µs, and the speedup of `{BEST}` over the fastest rival."
        ),
        table=Table(
            headings=_HEADINGS,
            rows=tuple(tuple(_cells(row)) for row in one.rows),
            text_columns=2,
        ),
        broken=tuple(line for row in one.rows for line in _faster_than_bound(row)),
    )


def _faster_than_bound(row: _Row) -> Iterator[str]:
    """Yield a sentence for each time that is shorter than the bound."""
    for name, ns in row.totals.items():
        if ns < row.totals[BOUND]:
            yield f"{row.title}: {name} is faster than {BOUND}"


def _cells(row: _Row) -> Iterator[str]:
    yield row.title
    yield row.size
    times = (row.totals.get(name) for name in (*RIVALS, *TRACKED, BOUND))
    yield from (MISSING if time is None else f"{time / 1e3:,.0f}" for time in times)
    yield row.rival
    yield f"{row.speedup(BEST, row.rival):.3f}"
