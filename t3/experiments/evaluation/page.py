"""Page of the evaluation, in Markdown and as an HTML file, and its summary for the docs."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rtl.export.revision import project_version, revision
from sysmodel.config.bundled import PRESETS
from sysmodel.config.system import load_system
from sysmodel.runs.comparison import ROUND_ROBIN
from sysmodel.runs.options import CONFIGURATIONS
from t3.report.html import html_page, picture_html
from t3.report.markdown import filled, table

from . import tables
from .claims import compare, known_claims
from .figures import FIGURES
from .study import POINT, Study
from .variation import variation

__all__ = ["SUMMARY_FIGURE", "Origin", "origin", "page", "report", "summary"]

_HERE = Path(__file__).parent

SUMMARY_FIGURE = FIGURES["speedups"]
"""Only figure of the summary."""


@dataclass(frozen=True)
class Origin:
    """Program that made the results.

    Parameters
    ----------
    version : str
        Version of the program.
    revision : str or None
        Revision of the source, if it is known.
    """

    version: str
    revision: str | None


def origin() -> Origin:
    """Return the running program and its revision."""
    return Origin(f"t3 {project_version()}", revision())


def page(study: Study, made_by: Origin, folder: str, *, is_whole: bool = False) -> str:
    """Page in Markdown.

    Parameters
    ----------
    study : Study
        Measurements.
    made_by : Origin
        Program that made them.
    folder : str
        Folder of the figures and of the tables' files, relative to the page.
    is_whole : bool
        Fold the detailed tables into the page instead of linking to their files.

    Raises
    ------
    InputError
        The tables of the study lack a value that the page shows.
    """
    comparisons, main = compare(study), study.main_cases
    by_figure = groupby(comparisons, key=lambda one: one.claim.figure)
    return _rendered(
        "page.md.j2",
        study,
        origin=made_by,
        folder=folder,
        is_whole=is_whole,
        details=tables.DETAILS,
        figures=FIGURES,
        first=study.cases[0].label,
        configurations=", ".join(
            f"`{name}`" for name in CONFIGURATIONS if name in set(study.table["configuration"])
        ),
        comparisons=comparisons,
        differences=known_claims().difference,
        claims={
            f"{figure}: {known_claims().figure[figure]}": tables.claim_table(
                list(some), study.claim_cases
            )
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


def summary(study: Study, made_by: Origin, folder: str) -> str:
    """Write the summary: speedups, and the claims that hold in no case.

    Parameters
    ----------
    study : Study
        Measured values.
    made_by : Origin
        Program and revision that measured them.
    folder : str
        Folder of the figure, relative to the page.
    """
    comparisons, main, claimed = compare(study), study.main_cases, study.claim_cases
    group, words = next(iter(tables.GROUPS.items()))
    means = tables.mean_table(study, {group: words}, main).rows
    speedups = [
        [row[1], *(f"{row[at]} ({row[at + 1]} to {row[at + 2]})" for at in range(2, len(row), 4))]
        for row in means
    ]
    open_claims = [one for one in comparisons if not any(map(one.agrees, claimed))]
    return _rendered(
        "summary.md.j2",
        study,
        origin=made_by,
        folder=folder,
        figure=SUMMARY_FIGURE,
        group=words,
        claims=len(comparisons),
        speedups=table(["configuration", *(case.name for case in main)], speedups),
        open_claims=table(
            ["claim", "paper", *(case.name for case in claimed)],
            [row[: 2 + len(claimed)] for row in tables.claim_table(open_claims, claimed).rows],
        ),
    )


def _rendered(template: str, study: Study, **values: object) -> str:
    """Render a template with its own values and the values of every page of the study."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.filters["table"] = lambda one: table(one.headings, one.rows, one.text_columns)
    comparisons, claimed = compare(study), study.claim_cases
    text = environment.get_template(template).render(
        study=study,
        engine=_engine(study),
        rate=f"{study.cases[0].link:g} GB/s",
        rates=" and ".join(f"{link:g} GB/s" for link in _values(study, "link")),
        dispatches=" and ".join(f"`{name}`" for name in _values(study, "dispatch")),
        sublayers=len(study.table[POINT].drop_duplicates()),
        sampling=_sampling(study),
        agreeing={case.name: sum(one.agrees(case) for one in comparisons) for case in claimed},
        agreeing_somewhere=sum(any(map(one.agrees, claimed)) for one in comparisons),
        cited=[(case.preset, load_system(case.preset).description) for case in study.cited_cases],
        **values,
    )
    return filled(text)


def report(markdown: str, figures: Path, system: str) -> str:
    """Page in HTML, with its figures and the system's values in it.

    Parameters
    ----------
    markdown : str
        Page that links to figures.
    figures : Path
        Folder of the figures.
    system : str
        Preset whose TOML file ends the page.
    """
    values = PRESETS.path(system, "system").read_text(encoding="utf-8")
    configuration = (
        "\n## Configuration\n\n<details>\n"
        f"<summary>{system}.toml, with the source of every value</summary>\n\n"
        f"```toml\n{values.rstrip()}\n```\n</details>\n"
    )
    pictures = {one.file: picture_html(figures / one.file, one.title) for one in FIGURES.values()}
    return html_page(f"{markdown}{configuration}", pictures, allows_html=True)


def _values(study: Study, part: str) -> list[object]:
    """Values of one field of the cases, in the order of the cases."""
    return list(dict.fromkeys(getattr(case, part) for case in study.cases))


def _engine(study: Study) -> str:
    """Describe the engines that simulated the T3 hardware."""
    if study.rtl.empty:
        return "golden model of the RTL"
    pairs = study.rtl[["model", "tp"]].drop_duplicates().itertuples(index=False, name=None)
    models = ", ".join(f"{name} at TP {tp}" for name, tp in pairs)
    return (
        f"golden model of the RTL; {len(study.rtl)} results again with the compiled RTL in the "
        f"loop ({models}), equal in every number"
    )


def _sampling(study: Study) -> str:
    """Describe the simulated channels and GPUs."""
    channels = "/".join(map(str, sorted(set(study.table["simulated_channels"]))))
    mirrored = set(study.table["gpus"]) == {"mirror"}
    gpus = "one GPU that stands for all" if mirrored else "every GPU"
    return f"{channels} of {study.system.dram.channels} memory channels, {gpus}"
