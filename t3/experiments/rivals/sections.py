"""Sections on T3 and its rivals: a summary, and a table of pairs for each system."""

from collections.abc import Iterator
from functools import cached_property
from math import exp, log
from typing import Any, NamedTuple

import pandas as pd

from sysmodel.config.system import System, load_system
from t3.report.document import MISSING, Section, Table

from .measure import BEST, BOUND, PAYLOAD, RIVALS

__all__ = ["INTRODUCTION", "TITLE", "sections"]

TITLE = "T3 and its rivals"
INTRODUCTION = (
    "Two GEMMs of a layer with an all-reduce between them, on eight GPUs, simulated by the golden "
    "engine: the output projection and the first feed-forward GEMM, the second one and the next "
    "layer's projection to queries, keys and values. *Rivals* are configurations that GPUs of "
    "today can run; [overlap by software](software-overlap.md) describes them. `cu-split-8` and "
    "`cu-split-16` are left out, since they need a second batch; `two-batch` cuts the pair's own."
)
_ALL = (*RIVALS, BEST)


class _Row(NamedTuple):
    """Pair on a system: total times in ns by configuration, and of T3 by the payload of its
    packets."""

    title: str
    size: str
    totals: dict[str, float]
    t3: dict[int, float]

    @property
    def rival(self) -> str:
        """Fastest rival."""
        return min((one for one in RIVALS if one in self.totals), key=self.totals.__getitem__)

    def over_rival(self, payload_bytes: int) -> float:
        """Time of the fastest rival over T3's."""
        return self.totals[self.rival] / self.t3[payload_bytes]

    def over_sequential(self, payload_bytes: int) -> float:
        """Time of ``sequential`` over T3's."""
        return self.totals[RIVALS[0]] / self.t3[payload_bytes]


class _Rows:
    """Pairs on one system."""

    def __init__(self, table: pd.DataFrame, name: str):
        self.system: System = load_system(name)
        self._table = table[table["system"] == name]
        self.payloads = sorted(set(self._table[PAYLOAD].astype(int)))

    @cached_property
    def rows(self) -> list[_Row]:
        keys = ["model", "layer", "program", "m", "n", "k"]
        return [self._row(key, of) for key, of in self._table.groupby(keys, sort=False)]

    def _row(self, key: Any, of: pd.DataFrame) -> _Row:
        model, _, program, m, n, k = key
        small = of[of[PAYLOAD] == self.payloads[0]].set_index("configuration")
        t3 = of[of["configuration"] == BEST].set_index(PAYLOAD)["total_ns"]
        return _Row(
            f"{model} {str(program).replace('-', ' to ', 1)}",
            f"{m} x {n} x {k}",
            {
                name: float(small.loc[name, "total_ns"])
                for name in (*_ALL, BOUND)
                if name in small.index
            },
            {payload: float(t3.loc[payload]) for payload in self.payloads},
        )

    def mean(self, values: list[float]) -> str:
        """Geometric mean of ratios."""
        return f"{exp(sum(map(log, values)) / len(values)):.3f}x"


def sections(table: pd.DataFrame) -> list[Section]:
    """Make the sections of the page, in order."""
    systems = [_Rows(table, str(name)) for name in dict.fromkeys(table["system"])]
    return [_summary(systems), *map(_of_system, systems)]


def _summary(systems: list[_Rows]) -> Section:
    rows = []
    for one in systems:
        for payload in one.payloads:
            wins = sum(row.over_rival(payload) > 1 for row in one.rows)
            fastest = sorted({row.rival for row in one.rows}, key=RIVALS.index)
            rows.append(
                (
                    one.system.name,
                    f"{payload} of {payload + one.system.link.t3_overhead_bytes} bytes",
                    one.mean([row.over_sequential(payload) for row in one.rows]),
                    one.mean(
                        [row.totals["sequential"] / row.totals[row.rival] for row in one.rows]
                    ),
                    one.mean([row.over_rival(payload) for row in one.rows]),
                    f"{wins} of {len(one.rows)}",
                    f"{_share_of_bound(one, payload):.0%}",
                    ", ".join(fastest),
                )
            )
    return Section(
        title="Summary",
        text=(
            f"Geometric means over the pairs; *rival* is the fastest one of each pair. *T3* is "
            f"`{BEST}`, by the payload of its packets: 32 "
            "bytes, one atom, or 256, the largest packet of the hardware, which a wavefront's rows "
            "of 64 bytes do not fill. *Of the bound* is the share of `ideal`'s speedup that T3 "
            "reaches."
        ),
        table=Table(
            (
                *("system", "T3's packets", "T3 over sequential", "rival over sequential"),
                *("T3 over rival", "T3 wins", "of the bound", "fastest rivals:"),
            ),
            tuple(rows),
            text_columns=2,
        ),
    )


def _share_of_bound(one: _Rows, payload: int) -> float:
    shares = [row.totals[BOUND] / row.t3[payload] for row in one.rows]
    return exp(sum(map(log, shares)) / len(shares))


def _of_system(one: _Rows) -> Section:
    return Section(
        title=one.system.name,
        text=(
            f"{one.system.description}. Times from the start of the first GEMM to the end of the "
            f"second one, in µs; *T3* is `{BEST}`, by the payload of its packets in bytes; the "
            "speedup over the fastest rival is that with the packets of the present hardware."
        ),
        table=Table(
            headings=(
                *("pair", "M x N x K", *RIVALS),
                *(f"T3, {payload} B" for payload in one.payloads),
                *(BOUND, "fastest:", "over it"),
            ),
            rows=tuple(tuple(_cells(one, row)) for row in one.rows),
            text_columns=2,
        ),
        broken=tuple(line for row in one.rows for line in _faster_than_bound(row)),
    )


def _faster_than_bound(row: _Row) -> Iterator[str]:
    """Yield a sentence for each time that is shorter than the bound; wider packets have another
    bound."""
    for name, ns in row.totals.items():
        if ns < row.totals[BOUND]:
            yield f"{row.title}: {name} is faster than {BOUND}"


def _cells(one: _Rows, row: _Row) -> Iterator[str]:
    yield row.title
    yield row.size
    times = (
        *(row.totals.get(name) for name in RIVALS),
        *(row.t3[payload] for payload in one.payloads),
        row.totals[BOUND],
    )
    yield from (MISSING if time is None else f"{time / 1e3:,.0f}" for time in times)
    yield row.rival
    yield f"{row.over_rival(one.payloads[0]):.3f}"
