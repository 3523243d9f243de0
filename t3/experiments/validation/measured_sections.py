"""Sections of the validation page about measured GPUs, and their summary on a page of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sysmodel.config.system import load_system
from sysmodel.lib.progress import Report, no_progress
from t3.experiments.measured.comparison import Compared, compare
from t3.experiments.measured.measurement import COLLECTIVES, STREAMS, Kind
from t3.experiments.measured.nccl_tests import LeftOut
from t3.experiments.measured.tables import compared_table, left_out_table
from t3.report.document import Section, Table
from t3.report.markdown import page, signed

from .measured_errors import errors_of
from .measured_rows import Rows, measured_rows
from .preset_errors import PresetError

__all__ = ["MeasuredGpus", "compare_gpus", "measured_sections", "measured_summary"]

_TITLE = "The model beside measured GPUs"
_COMPARED = (
    "Published measurements of real GPUs against the presets. A preset marks the values that were "
    "fitted to some of these rows. A difference is the model's value over the measured one, less "
    "one: times of the model that are too short are negative."
)
_COLLECTIVES = (
    "Reduce-scatters and all-gathers around rings by the kernels of `sequential`, all-reduces as "
    "the library chooses for their size, without a GEMM before them. Measured: "
    "out-of-place times of nccl-tests, which include one launch for each collective, as ours do; "
    "all-reduces from 16 MiB on also in place; on MI300X all-reduces of rccl-tests. "
    "Our buffers are not cached at the start; a small buffer of the test is still in the L2 from "
    "the repetition before. An all-to-all sends directly, over a switch with the system's link; "
    "its fixed costs are those that were fitted to all-gathers."
)
_GEMMS = (
    "GEMMs of two-byte elements by the vendors' and other libraries; ours with empty caches, the "
    "preset's clock, and one launch. The section *GPUs: GEMM* has GEMMs at the card's own clock."
)
_BOTH = "The library's GEMM, then NCCL, one after the other: `sequential` without its all-gather."
_STREAMS = (
    "BabelStream's rates, read and written bytes together, against one channel of the preset that "
    "serves as many arrays, times its channels. The section *GPUs: memory streams* compares shares "
    "of the peak with the GPU's own number of channels. A positive difference means that the "
    "model's memory is faster."
)
_TEXTS: dict[str, tuple[tuple[Kind, ...], str]] = {
    "collectives": (COLLECTIVES, _COLLECTIVES),
    "GEMM": (("gemm",), _GEMMS),
    "GEMM, then reduce-scatter": (("gemm_rs",), _BOTH),
    "memory streams": (STREAMS, _STREAMS),
}


@dataclass(frozen=True)
class MeasuredGpus:
    """Rows of measured GPUs, and their comparisons by preset."""

    rows: Rows
    compared: Mapping[str, Sequence[Compared]]


def compare_gpus(report: Report = no_progress) -> MeasuredGpus:
    """Simulate the measured rows of each preset."""
    rows = measured_rows()
    compared = {
        preset: compare(load_system(preset), measurements, report, preset)
        for preset, measurements in rows.by_preset.items()
    }
    return MeasuredGpus(rows, compared)


def measured_sections(measured: MeasuredGpus) -> list[Section]:
    """Every row, by kind."""
    pairs = [(preset, one) for preset, rows in measured.compared.items() for one in rows]
    return [
        Section(
            title=f"Measured GPUs: {name}",
            text=text,
            table=compared_table([one for one in pairs if one[1].measurement.kind in kinds], "GPU"),
        )
        for name, (kinds, text) in _TEXTS.items()
    ]


def measured_summary(measured: MeasuredGpus, source: str) -> str:
    """Page with the error of each preset and kind, and the rows that are left out."""
    rows, compared = measured.rows, measured.compared
    count = sum(map(len, compared.values()))
    left_out = [LeftOut(reason, number) for reason, number in rows.left_out.items()]
    errors = Section(
        "Error by preset and kind",
        f"{_COMPARED} *Size* is the mean of the differences without their signs. `t3 validate` "
        f"writes all {count} comparisons into `validation.md`, `t3 presets` prints this table, and "
        "`t3 validate --measured FILE --system MINE.toml` compares measurements of your own.",
        _error_table(errors_of(compared)),
    )
    dropped = Section(
        "Rows that are not compared",
        f"Of the {rows.total} rows of `measured_gpus.csv` and `public_gemms.csv`, "
        f"{sum(rows.left_out.values())} are left out; the first reason that applies counts.",
        left_out_table(left_out),
    )
    return page(_TITLE, source, [errors, dropped])


def _error_table(errors: Sequence[PresetError]) -> Table:
    return Table(
        ("preset", "kind", "rows", "mean", "size", "worst"),
        tuple(
            (
                one.preset,
                one.kind,
                str(one.rows),
                signed(100 * one.mean, "%"),
                f"{100 * one.size:.1f} %",
                signed(100 * one.worst, "%"),
            )
            for one in errors
        ),
        text_columns=2,
    )
