"""The evaluation as one Markdown page."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rtl.export.revision import project_version, revision
from sysmodel.lib.markdown import filled
from sysmodel.runs.comparison import ROUND_ROBIN
from sysmodel.runs.result import CONFIGURATIONS

from . import tables
from .claims import compare, known_claims
from .figures import FIGURES
from .study import POINT, Study
from .variation import variation

__all__ = ["Origin", "origin", "page"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Origin:
    """What made the results.

    Parameters
    ----------
    version : str
        Of this program.
    revision : str or None
        Of the source, where it is known.
    """

    version: str
    revision: str | None


def origin() -> Origin:
    """Program and revision that are running."""
    return Origin(f"t3 {project_version()}", revision())


def page(study: Study, made_by: Origin, folder: str, *, is_whole: bool = False) -> str:
    """The page in Markdown.

    Parameters
    ----------
    study : Study
        What was measured.
    made_by : Origin
        What made it.
    folder : str
        Where the figures and the files of tables lie, seen from the page.
    is_whole : bool
        The tables behind it are folded parts of it, not files beside it.

    Raises
    ------
    InputError
        Something that the page shows is missing from the study's tables.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE), undefined=StrictUndefined, keep_trailing_newline=True
    )
    comparisons, main = compare(study), study.main_cases
    by_figure = groupby(comparisons, key=lambda one: one.claim.figure)
    text = environment.get_template("page.md.j2").render(
        study=study,
        origin=made_by,
        engine=_engine(study),
        folder=folder,
        is_whole=is_whole,
        details=tables.DETAILS,
        figures=FIGURES,
        first=study.cases[0].label,
        rate=f"{study.cases[0].link:g} GB/s",
        rates=" and ".join(f"{link:g} GB/s" for link in _values(study, "link")),
        dispatches=" and ".join(f"`{name}`" for name in _values(study, "dispatch")),
        sublayers=len(study.table[POINT].drop_duplicates()),
        configurations=", ".join(
            f"`{name}`" for name in CONFIGURATIONS if name in set(study.table["configuration"])
        ),
        sampling=_sampling(study),
        comparisons=comparisons,
        agreeing={case.dispatch: sum(one.agrees(case) for one in comparisons) for case in main},
        agreeing_somewhere=sum(any(map(one.agrees, main)) for one in comparisons),
        differences=known_claims().difference,
        claims={
            f"{figure}: {known_claims().figure[figure]}": tables.claim_table(list(some), main)
            for figure, some in by_figure
        },
        means=tables.mean_table(study, tables.GROUPS, main),
        worst=tables.worst_table(study),
        savings=tables.saving_table(study, tables.GROUPS, study.cases),
        efficiency=tables.efficiency_table(study),
        parameters=tables.parameter_table(study),
        variations={
            name: f"{variation(study.variation, name):.1%}"
            for name in dict.fromkeys(study.variation["configuration"])
            if name != ROUND_ROBIN
        },
    )
    return filled(text)


def _values(study: Study, part: str) -> list[object]:
    """Values of a part of the cases, in their order."""
    return list(dict.fromkeys(getattr(case, part) for case in study.cases))


def _engine(study: Study) -> str:
    """What stood for the T3 hardware, in words."""
    if study.rtl.empty:
        return "golden model of the RTL"
    pairs = study.rtl[["model", "tp"]].drop_duplicates().itertuples(index=False, name=None)
    models = ", ".join(f"{name} at TP {tp}" for name, tp in pairs)
    return (
        f"golden model of the RTL; {len(study.rtl)} results again with the compiled RTL in the "
        f"loop ({models}), equal in every number"
    )


def _sampling(study: Study) -> str:
    """Channels and GPUs that stand for all."""
    channels = "/".join(map(str, sorted(set(study.table["simulated_channels"]))))
    mirrored = set(study.table["gpus"]) == {"mirror"}
    gpus = "one GPU that stands for all" if mirrored else "every GPU"
    return f"{channels} of {study.system.dram.channels} memory channels, {gpus}"
