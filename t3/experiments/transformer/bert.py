"""BERT-Large on one GPU: the parts of the time of a training step.

A step consists of forward and backward passes over a batch, at once or in micro-batches whose
gradients are accumulated, and an update by LAMB. Embeddings and the output layer are not timed (see
``docs/end-to-end.md``), but their parameters are updated.
"""

from functools import cache
from pathlib import Path
from typing import Annotated

import pandas as pd

from sysmodel.config.schema import Strict, integer, read_toml, text, validate
from sysmodel.config.system import System, load_system

from .layer import backward, forward
from .operators import FP32, KINDS, MIXED, LayerShape, Operator, Precision
from .optimizer import lamb
from .timing import operator_ns

__all__ = ["BATCHES", "Bert", "bert_breakdown", "bert_large", "by_setting", "main", "summary"]

# Sequences and micro-batches of a step: whole, accumulated, and an update for each micro-batch.
BATCHES = ((32, 1), (32, 4), (8, 1))
_GROUPS = {
    "GEMMs": ("gemm",),
    "attention": ("attention gemm", "attention"),
    "normalisation and activations": ("normalisation", "activation"),
    "optimizer": ("optimizer",),
}
_SETTING = ["sequence", "precision", "batch", "micro_batches"]


class Bert(Strict):
    """Shape of an encoder with a vocabulary."""

    name: str = text()
    layers: int = integer(1, 10_000)
    hidden: int = integer(1, 1 << 17)
    heads: int = integer(1, 10_000)
    sequences: list[Annotated[int, integer(1, 1 << 20)]]
    vocabulary: int = integer(1, 1 << 20)
    positions: int = integer(1, 1 << 20)
    segments: int = integer(1, 1024)
    source: str = text()

    def layer(self, sequence: int, batch: int, precision: Precision) -> LayerShape:
        """One layer on one GPU."""
        return LayerShape(
            hidden=self.hidden,
            heads=self.heads,
            sequence=sequence,
            batch=batch,
            precision=precision,
        )

    @property
    def parameters(self) -> float:
        """Layers, the embeddings with their layer norm, and the pooler."""
        layers = self.layers * self.layer(1, 1, FP32).parameters
        embeddings = (self.vocabulary + self.positions + self.segments + 2) * self.hidden
        return layers + embeddings + self.hidden**2 + self.hidden


@cache
def bert_large() -> Bert:
    """Return the shape of BERT-Large."""
    path = Path(__file__).with_name("bert.toml")
    return validate(Bert, read_toml(path), path.name)


def bert_breakdown(system: System) -> pd.DataFrame:
    """Time of a training step by kind of operator.

    Returns
    -------
    DataFrame
        A row for each sequence length, precision, element of ``BATCHES`` and kind: sequence,
        precision, batch, micro_batches, kind, flops (of GEMMs), time_ms, share (of the step).
    """
    bert = bert_large()
    rows = []
    for sequence in bert.sequences:
        for precision in (FP32, MIXED):
            for batch, micro_batches in BATCHES:
                step = _step(bert, sequence, batch, micro_batches, precision)
                labels = dict(
                    zip(_SETTING, (sequence, precision.name, batch, micro_batches), strict=True)
                )
                for kind in KINDS:
                    ours = [(one, times) for one, times in step if one.kind == kind]
                    ns = sum(times * operator_ns(one, system, precision) for one, times in ours)
                    flops = sum(times * one.flops for one, times in ours)
                    rows.append(labels | {"kind": kind, "flops": flops, "time_ms": ns / 1e6})
    table: pd.DataFrame = pd.DataFrame(rows)
    table["share"] = table["time_ms"] / table.groupby(_SETTING)["time_ms"].transform("sum")
    return table


def _step(
    bert: Bert, sequence: int, batch: int, micro_batches: int, precision: Precision
) -> list[tuple[Operator, int]]:
    """Operators of a step, and how many times each runs."""
    shape = bert.layer(sequence, batch // micro_batches, precision)
    first, later = bert.layers, bert.layers * (micro_batches - 1)
    return [
        *((one, first + later) for one in forward(shape)),
        *((one, first) for one in backward(shape)),
        *((one, later) for one in backward(shape, accumulate=True)),
        (lamb(bert.parameters, precision), 1),
    ]


def by_setting(breakdown: pd.DataFrame) -> pd.DataFrame:
    """Make a row for each setting: the time of its step in ms, and the share of every kind in
    percent.
    """
    wide = (100 * breakdown.pivot(index=_SETTING, columns="kind", values="share"))[list(KINDS)]
    wide = wide.add_suffix(" (%)")
    wide.insert(0, "step (ms)", breakdown.groupby(_SETTING)["time_ms"].sum())
    wide.columns.name = None
    settings = breakdown[_SETTING].drop_duplicates()
    ordered: pd.DataFrame = wide.reindex(pd.MultiIndex.from_frame(settings)).reset_index()
    return ordered


def summary(breakdown: pd.DataFrame) -> str:
    """Effects of precision, micro-batches and accumulation, a sentence for each."""
    time = breakdown.groupby(_SETTING)["time_ms"].sum()
    share = 100 * breakdown.set_index([*_SETTING, "kind"])["share"]
    (whole, _), (_, parts), (small, _) = BATCHES
    lines = []
    for sequence in breakdown["sequence"].unique():
        full = (sequence, FP32.name, whole, 1)
        mixed = (sequence, MIXED.name, whole, 1)
        accumulated = (sequence, MIXED.name, whole, parts)
        alone = (sequence, MIXED.name, small, 1)
        for what, before, after in (
            (f"fp32 to mixed precision, batch of {whole}", full, mixed),
            (f"batch of {whole} to {parts} micro-batches of {small}, mixed", mixed, accumulated),
            (f"an update for every {small} instead of every {whole}, mixed", accumulated, alone),
        ):
            faster = time[before] / time[after] * after[2] / before[2]
            shares = ", ".join(
                f"{name} {share[[(*before, kind) for kind in kinds]].sum():.1f} to "
                f"{share[[(*after, kind) for kind in kinds]].sum():.1f} %"
                for name, kinds in _GROUPS.items()
            )
            lines.append(
                f"Sequences of {sequence}, {what}: {faster:.2f} times the sequences in a second; "
                f"share of time: {shares}."
            )
    return "\n".join(lines)


def main() -> None:
    """Print the breakdown on the default system."""
    breakdown = bert_breakdown(load_system())
    print(by_setting(breakdown).to_string(index=False, float_format="{:.1f}".format))
    print(f"\n{summary(breakdown)}")


if __name__ == "__main__":
    main()
