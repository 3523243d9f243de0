"""The evaluation as one Markdown page."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rtl.export.revision import project_version, revision
from sysmodel.runs.comparison import ROUND_ROBIN
from sysmodel.runs.result import CONFIGURATIONS

from . import tables
from .claims import compare, known_claims
from .figures import FIGURES
from .study import POINT, Study
from .variation import variation, variation_table

__all__ = ["Origin", "origin_of", "page"]

_HERE = Path(__file__).parent
_WIDTH = 120  # of a line of prose
_HARDWARE = {"rtl": "compiled RTL", "golden": "golden model of the RTL"}


@dataclass(frozen=True)
class Origin:
    """What made the results.

    Parameters
    ----------
    hardware : str
        The engine, in words.
    version : str
        Of this program.
    revision : str or None
        Of the source, where it is known.
    """

    hardware: str
    version: str
    revision: str | None


def origin_of(engine: str) -> Origin:
    """Program and revision that are running."""
    return Origin(_HARDWARE[engine], f"t3 {project_version()}", revision())


def page(study: Study, origin: Origin, folder: str, *, is_whole: bool = False) -> str:
    """The page in Markdown.

    Parameters
    ----------
    study : Study
        What was measured.
    origin : Origin
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
    comparisons = compare(study)
    first = study.links[0]
    by_figure = groupby(comparisons, key=lambda one: one.claim.figure)
    environment.filters["item"] = _item
    return environment.get_template("page.md.j2").render(
        study=study,
        origin=origin,
        folder=folder,
        is_whole=is_whole,
        details=tables.DETAILS,
        figures=FIGURES,
        first=f"{first:g} GB/s",
        rates=" and ".join(f"{link:g} GB/s" for link in study.links),
        sublayers=len(study.table[POINT].drop_duplicates()),
        configurations=", ".join(
            f"`{name}`" for name in CONFIGURATIONS if name in set(study.table["configuration"])
        ),
        sampling=_sampling(study),
        comparisons=comparisons,
        agreeing=sum(one.agrees(first) for one in comparisons),
        differences=known_claims().difference,
        claims={
            f"{figure}: {known_claims().figure[figure]}": tables.claim_table(
                list(some), study.links
            )
            for figure, some in by_figure
        },
        means={words: tables.mean_table(study, group) for group, words in tables.GROUPS.items()},
        savings=tables.saving_table(study, tables.GROUPS),
        models=tables.model_table(study, "megatron"),
        operators=tables.operator_table(study.operators),
        efficiency=tables.efficiency_table(study),
        parameters=tables.parameter_table(study),
        shapes=tables.shape_table(study),
        repeated=variation_table(study.variation),
        variations={
            name: f"{variation(study.variation, name):.1%}"
            for name in dict.fromkeys(study.variation["configuration"])
            if name != ROUND_ROBIN
        },
    )


def _item(text: str) -> str:
    """An item of a list, in lines of a page's width."""
    return fill(
        text,
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sampling(study: Study) -> str:
    """Channels and GPUs that stand for all."""
    channels = "/".join(map(str, sorted(set(study.table["channels"]))))
    mirrored = set(study.table["gpus"]) == {"mirror"}
    gpus = "one GPU that stands for all" if mirrored else "every GPU"
    return f"{channels} of {study.system.dram.channels} memory channels, {gpus}"
