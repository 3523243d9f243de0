"""Section of the validation page about memory streams of whole GPUs."""

from t3.report.document import Section, Table
from t3.report.markdown import signed

from .stream_comparison import STREAM_BOUND, StreamComparison

__all__ = ["stream_section"]


def stream_section(compared: list[StreamComparison]) -> Section:
    """Compare kernels over whole arrays with a channel of each preset."""
    rows = tuple(
        (
            one.reference.gpu,
            one.reference.kernel,
            one.reference.program,
            f"{one.measured:.3f}",
            f"{one.ours:.3f}",
            signed(100 * one.difference, "%"),
            "yes" if one.holds else "no",
        )
        for one in compared
    )
    return Section(
        title="GPUs: memory streams",
        text="Share of the data sheet's rate; read and written bytes count. BabelStream's arrays "
        "have 268 MB (fp64), those of `measure_gpu.py` 4 GB. The model's channel serves as many "
        "streams as the kernel has arrays, 512 bytes of each in turn; "
        "each figure is the mean of ten places of the arrays. Three keys of the "
        "presets are fitted to these rows: `dram.data_share` to the reads, `dram.queue_depth` and "
        "`dram.turnaround_cap_clocks` to copies and sums. So the agreement is no evidence for the "
        "model. The sources themselves disagree: both programs measured an H200, and their copies "
        "differ by 5 %, as do their reads, in the other direction. "
        f"Bound: within {100 * STREAM_BOUND:g} % of each figure.",
        table=Table(
            headings=("GPU", "kernel", "program", "measured", "ours", "difference", "within"),
            rows=rows,
            text_columns=3,
        ),
        broken=tuple(", ".join(row[:-1]) for row in rows if row[-1] == "no"),
    )
