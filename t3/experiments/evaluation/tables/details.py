"""Detailed tables behind the page: files in the page's folder, and folded parts of the report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from t3.experiments.evaluation.claims import compare
from t3.experiments.evaluation.study import Study
from t3.report.document import Table, csv_text

from .claims import full_claim_table
from .energy import constant_range_table, energy_table
from .models import layer_table, model_table, operator_table, shape_table
from .parameters import sensitivity_table
from .policies import policy_table
from .sublayers import byte_table, mean_table, speedup_table, time_table
from .variation import variation_table

__all__ = ["DETAILS", "GROUPS", "UNSLICED", "Detail"]

UNSLICED = "attention unsliced"
GROUPS = {"main": "Mega-GPT-2 and T-NLG", "large and futuristic": "large and futuristic models"}


@dataclass(frozen=True)
class Detail:
    """Tables of one file.

    Parameters
    ----------
    title : str
        Title of the file.
    parts : callable
        Tables of a study, each with its title in the report.
    """

    title: str
    parts: Callable[[Study], dict[str, Table]]

    def csv(self, study: Study) -> str:
        return csv_text(self.parts(study).values())


def _by_group(title: str, make: Callable[[Study, str], Table]) -> Detail:
    def parts(study: Study) -> dict[str, Table]:
        return {f"{title}, {words}": make(study, group) for group, words in GROUPS.items()}

    return Detail(f"{title}, every sublayer", parts)


def _single(title: str, make: Callable[[Study], Table]) -> Detail:
    return Detail(title, lambda study: {title: make(study)})


DETAILS: Mapping[str, Detail] = MappingProxyType(
    {
        "claims": _single(
            "Every claim with its source",
            lambda study: full_claim_table(compare(study), study),
        ),
        "means": _single(
            "Speedups of all sublayers together, every case",
            lambda study: mean_table(study, GROUPS, study.cases),
        ),
        "policies": _single(
            "`t3-critical` beside the best of the other policies, every sublayer", policy_table
        ),
        "speedups": _by_group("Speedups", speedup_table),
        "times": _by_group("Times", time_table),
        "bytes": _by_group("Bytes of one GPU", byte_table),
        "energy": _by_group("Energy of one GPU", energy_table),
        "energy-constants": _single(
            "What T3-MCA saves at the ends of each constant's range", constant_range_table
        ),
        "models": _single(
            "Times and speedups end to end",
            lambda study: model_table(study, "megatron", study.cases),
        ),
        "models-unsliced": _single(
            "The same if every GPU computes the attention of all heads",
            lambda study: model_table(study, UNSLICED, study.cases),
        ),
        "operators": _single("Each operator's time", lambda study: operator_table(study.operators)),
        "layers": _single("Where a layer's time goes, sequential", layer_table),
        "repeated": _single(
            "The sublayers that were repeated", lambda study: variation_table(study.variation)
        ),
        "shapes": _single("The models' shapes", shape_table),
        "sensitivity": _single(
            "Speedup at every value, and its change from the defaults", sensitivity_table
        ),
    }
)
"""Tables by the name of their file."""
