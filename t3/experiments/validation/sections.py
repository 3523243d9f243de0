"""All comparisons, their full page, and its summary."""

from collections.abc import Sequence
from pathlib import Path

from sysmodel.lib.progress import Report, no_progress
from t3.report.document import MISSING, Section, Table
from t3.report.markdown import page

from .dram_comparison import compare_dram
from .dram_sections import (
    mix_section,
    pattern_section,
    refresh_section,
    sequential_section,
)
from .gemm_comparison import compare_gemm
from .gpu_comparison import card_figures, compare_card_gemms
from .gpu_sections import card_gemm_section, card_section, card_traffic_section
from .measured_sections import MeasuredGpus, compare_gpus, measured_sections
from .model_sections import gemm_section, sampling_section
from .references import dram_references, ring_references, stream_references
from .ring_comparison import compare_rings, other_rings
from .ring_sections import closed_form_section, ring_section
from .sampling import CHANNELS, GPUS, compare_sampling
from .software_comparison import compare_software
from .software_sections import software_section
from .stream_comparison import compare_streams
from .stream_sections import stream_section

__all__ = ["compare_all", "write_page", "write_summary"]

_TITLE = "Validation"
_INTRODUCTION = (
    "Parts of the system model beside independent simulators, closed forms and GPUs. The folder "
    "`t3/experiments/validation/reference/` has the figures and conditions of the references."
)
_SUMMARY = (
    "Each row is one comparison: its figures, how many of these have a bound, and how many break "
    "it. The largest difference is that of the figures with a bound, or of all figures where no "
    "bound applies. `t3 validate` also writes the full page, `validation.md`, with every figure, "
    "the conditions of each comparison, and pictures."
)
_VERDICTS = ("yes", "no")


def compare_all(report: Report = no_progress) -> tuple[list[Section], MeasuredGpus]:
    """Run all comparisons; return a section for each, and those with measured GPUs."""
    dram = compare_dram(dram_references(), report)
    rings = compare_rings(ring_references(), report)
    others = compare_rings(other_rings(), report)
    card = compare_card_gemms(report)
    measured = compare_gpus(report)
    sections = [
        sequential_section(dram),
        mix_section(dram),
        refresh_section(dram),
        pattern_section(),
        ring_section(rings, others),
        closed_form_section(others),
        gemm_section(compare_gemm(report)),
        card_gemm_section(card),
        card_traffic_section(card),
        stream_section(compare_streams(stream_references())),
        card_section(card_figures()),
        *measured_sections(measured),
        software_section(compare_software(report)),
        *(sampling_section(one, compare_sampling(one, report)) for one in (CHANNELS, GPUS)),
    ]
    return sections, measured


def write_page(sections: Sequence[Section], path: Path, source: str) -> None:
    """Write the full page, and its figures into the same folder; ``source`` names command and
    revision.
    """
    for section in sections:
        if section.figure:
            section.figure.draw(path.parent / section.figure.file)
    text = page(_TITLE, f"{source}\n\n{_INTRODUCTION}", sections)
    path.write_text(text, encoding="utf-8")


def write_summary(sections: Sequence[Section], path: Path, source: str) -> None:
    """Write one row for each comparison, and every exceeded bound."""
    broken = tuple(f"{one.title}: {line}" for one in sections for line in one.broken)
    headings = ("comparison", "figures", "with a bound", "beyond it", "largest difference")
    table = Table(headings, tuple(map(_summarized, sections)))
    summary = Section("Comparisons", _SUMMARY, table, broken=broken)
    text = page(_TITLE, f"{source}\n\n{_INTRODUCTION}", [summary])
    path.write_text(text, encoding="utf-8")


def _summarized(section: Section) -> tuple[str, ...]:
    """Count the figures of a section, and find the largest difference among them."""
    table = section.table or Table((), ())
    bound = [row for row in table.rows if row[-1] in _VERDICTS]
    columns = [at for at, title in enumerate(table.titles) if title == "difference"]
    cells = [row[at] for row in bound or table.rows for at in columns]
    largest = max(cells, key=_size, default=MISSING)
    counts = (len(table.rows), len(bound), sum(row[-1] == "no" for row in bound))
    return (section.title, *map(str, counts), largest)


def _size(difference: str) -> float:
    """Read the size of a difference as the tables write it: ``−0.2 %``, ``+5.9 points``."""
    return abs(float(difference.split()[0].replace("\N{MINUS SIGN}", "-")))
