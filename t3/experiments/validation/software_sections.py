"""Section of the validation page about kernels that overlap a GEMM with collectives."""

from collections import Counter
from collections.abc import Sequence

from t3.report.document import MISSING, Section, Table
from t3.report.markdown import signed

from .software_comparison import BOUND, LEAST_AGREEMENT, SoftwareComparison, agreement
from .software_rows import CU_STORES_GB_PER_S, LEFT_OUT, Operation, Role, left_out_rows

__all__ = ["software_section"]

_OPERATIONS: dict[Operation, str] = {
    "gemm_rs": "GEMM, reduce-scatter",
    "ag_gemm": "all-gather, GEMM",
    "gemm_ar": "GEMM, all-reduce",
}
_ROLES: tuple[Role, ...] = ("fitted", "held out", "preset")
_TEXT = (
    "Published times of kernels that overlap a GEMM with collectives on 8 GPUs, and of the "
    "libraries' kernels one after the other (*in turn*), against `fused` or `chunked` and "
    "`sequential`; losses count as wins do. M x N x K is the GEMM of one GPU, and the times end "
    "with the collective that the row names. A positive difference means that the model is "
    "slower; where a source gives only the ratio, it is that of the kernel's time as a share of "
    "the time in turn. *Values*: *fitted* to this row, *held out* from the fit to other rows of "
    "the kernel, or the *preset* alone. Fitted here is one value: a CU of Flux sends "
    f"{CU_STORES_GB_PER_S} GB/s (`fused.cu_stores_gb_per_s`), from Flux's GEMMs with "
    "reduce-scatter on H100. Flux's GEMMs behind an all-gather have the presets' "
    "`fused.gather_ns`. The kernels of async-TP have 40 and 17 µs between pieces, which explain "
    "their own rows. FlagTree adds in the switch, inside of its kernel, which `fused` does not: "
    "only win or loss is compared, by the whole sublayer."
)


def software_section(compared: Sequence[SoftwareComparison]) -> Section:
    """Show every row, and how many are within the bound and have the right winner."""
    rows = tuple(map(_row, compared))
    right, known = agreement(compared)
    broken = [", ".join(row) for row in rows if row[-1] == "no"]
    if right < LEAST_AGREEMENT * known:
        broken.append(f"win or loss is right in {right} of {known} rows")
    return Section(
        title="Overlap by software",
        text=f"{_TEXT} {_within(compared)} Win or loss is right in {right} of {known} rows; "
        f"asked: {LEAST_AGREEMENT:.0%}. {_left_out()}",
        table=Table(
            headings=(
                *("GPU", "kernel:", "operation:", "M x N x K:", "values:", "in turn (µs)"),
                *("ours", "off", "kernel (µs)", "ours", "difference"),
                *("speedup", "ours", "winner:", "within"),
            ),
            rows=rows,
        ),
        broken=tuple(broken),
    )


def _row(one: SoftwareComparison) -> tuple[str, ...]:
    row = one.row
    off = one.torch_difference
    return (
        *(row.gpu, row.kernel.name, _OPERATIONS[row.operation]),
        *(f"{row.m} x {row.n} x {row.k}", row.role),
        *(_us(row.torch_us), _us(one.sequential_ns / 1e3)),
        MISSING if off is None else signed(100 * off, "%"),
        *(_us(row.kernel_us), _us(one.kernel_ns / 1e3)),
        signed(100 * one.difference, "%"),
        MISSING if row.speedup is None else f"{row.speedup:.2f}x",
        f"{one.speedup:.2f}x",
        MISSING if one.agrees is None else "right" if one.agrees else "wrong",
        MISSING if one.holds is None else "yes" if one.holds else "no",
    )


def _us(time_us: float | None) -> str:
    return MISSING if time_us is None else f"{time_us:,.0f}"


def _within(compared: Sequence[SoftwareComparison]) -> str:
    """Count the rows within the bound, by the origin of the kernel's values."""
    bounded = Counter(one.row.role for one in compared if one.holds is not None)
    within = Counter(one.row.role for one in compared if one.holds)
    counts = ", ".join(f"{within[role]} of {bounded[role]} {role}" for role in _ROLES)
    return (
        f"Within the bound of {BOUND:.0%} are {within.total()} of {bounded.total()} rows: {counts}."
    )


def _left_out() -> str:
    """Count the rows of the files that are not compared, by reason."""
    counts = left_out_rows()
    reasons = "; ".join(f"{rule.reason} ({counts[rule.reason]})" for rule in LEFT_OUT)
    return f"Not compared: {reasons}."
