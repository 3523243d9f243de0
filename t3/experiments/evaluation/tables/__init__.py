"""Tables of the page, and of the files behind it."""

from .claims import claim_table
from .details import DETAILS, GROUPS, UNSLICED
from .energy import saving_table
from .models import efficiency_table
from .parameters import parameter_table
from .policies import worst_table
from .sublayers import mean_table

__all__ = [
    "DETAILS",
    "GROUPS",
    "UNSLICED",
    "claim_table",
    "efficiency_table",
    "mean_table",
    "parameter_table",
    "saving_table",
    "worst_table",
]
