"""Pairs of GEMMs with an all-reduce between them: a sublayer, and the GEMM behind it."""

from sysmodel.config.model import Transformer
from sysmodel.runs.program.activities import Gemm, Size
from sysmodel.runs.program.files import default_program
from sysmodel.runs.program.program import Program
from t3.experiments.transformer.layer import forward
from t3.experiments.transformer.operators import LayerShape

__all__ = ["CONSUMER", "LAYERS", "pair"]

LAYERS = {"op": "fc-1", "fc2": "qkv"}
"""Sublayers of the forward pass, and the operator that needs the output of each."""

CONSUMER = "next"
"""Activity of the GEMM that needs the gathered output."""


def pair(model: Transformer, layer: str, tp: int) -> Program:
    """Make the program of a sublayer and the GEMM behind it.

    Normalisation and residuals between them are left out: they take the same time in all
    configurations.
    """
    name, shape = LAYERS[layer], LayerShape.of(model, tp, attention_tp=tp)
    gemms = {one.name: one.gemm for one in forward(shape, training=False)}
    gemm = gemms[name]
    assert gemm is not None  # the operator is a GEMM
    size = Size(m=round(gemm.m), n=round(gemm.n), k=round(gemm.k))
    activities = default_program().activities
    gather = activities[-1].name
    return Program(f"{layer}-{name}", (*activities, Gemm(CONSUMER, needs=(gather,), size=size)))
