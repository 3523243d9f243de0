"""The tables of the page, each a Markdown text."""

from .claims import claim_table
from .energy import constant_range_table, energy_table
from .models import efficiency_table, layer_table, model_table, operator_table, shape_table
from .parameters import parameter_table, sensitivity_table
from .sublayers import byte_table, speedup_table, time_table

__all__ = [
    "byte_table",
    "claim_table",
    "constant_range_table",
    "efficiency_table",
    "energy_table",
    "layer_table",
    "model_table",
    "operator_table",
    "parameter_table",
    "sensitivity_table",
    "shape_table",
    "speedup_table",
    "time_table",
]
