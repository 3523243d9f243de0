"""Files of measurements, whose format follows from their content."""

from collections.abc import Iterable
from pathlib import Path

from sysmodel.config.workload import LARGEST, LARGEST_TP
from sysmodel.gpu.atoms import ELEMENTS
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS
from sysmodel.lib.errors import InputError
from sysmodel.lib.text import read_text
from sysmodel.runs.collective_buffer import message_limits

from .measurement import COLLECTIVES, Measurement
from .nccl_tests import LeftOut, is_nccl_tests, read_nccl_tests
from .table import is_table, read_table

__all__ = ["read_measurements"]

_SIDES = " x ".join(str(LARGEST[side]) for side in "mnk")


def read_measurements(files: Iterable[Path]) -> tuple[list[Measurement], list[LeftOut]]:
    """Read the measurements of some files, and count the rows that are left out.

    A file is the output of nccl-tests or rccl-tests, or a table (:func:`.read_table`).

    Raises
    ------
    InputError
        A file has neither format, a broken line, or no row that can be compared.
    """
    found: list[Measurement] = []
    dropped: list[LeftOut] = []
    for file in files:
        text = read_text(file)
        if is_nccl_tests(text):
            rows, left_out = read_nccl_tests(text, str(file))
            dropped += left_out
        elif is_table(text):
            rows = read_table(text, str(file))
        else:
            raise InputError(
                str(file),
                "is not known; allowed: the output of nccl-tests or rccl-tests, or a table whose "
                "first line names its columns",
            )
        found += rows
    inside, outside = _of_modelled_size(found)
    if not inside:
        reasons = "; ".join(f"{one.rows}: {one.reason}" for one in [*dropped, *outside])
        raise InputError(
            ", ".join(map(str, files)), f"no row that can be compared ({reasons or 'no rows'})"
        )
    return inside, [*dropped, *outside]


def _of_modelled_size(found: list[Measurement]) -> tuple[list[Measurement], list[LeftOut]]:
    """Separate collectives that the model cannot cut, and GEMMs that it cannot place, from all
    other measurements."""
    inside = [one for one in found if _fits(one)]
    gemms = sum(one.kind == "gemm" and not _fits(one) for one in found)
    others = len(found) - len(inside) - gemms
    reasons = (
        (
            f"fewer than 512 bytes for a GPU, more than 1 GiB, or more than {LARGEST_TP} GPUs",
            others,
        ),
        (f"GEMM of more than {_SIDES}, or with an output of more than 1 GiB", gemms),
    )
    return inside, [LeftOut(reason, rows) for reason, rows in reasons if rows]


def _fits(one: Measurement) -> bool:
    if one.kind == "gemm":
        return _places(one.m, one.n, one.k)
    if one.kind not in COLLECTIVES:
        return True
    least, most = message_limits(one.gpus)
    return 2 <= one.gpus <= LARGEST_TP and least <= one.message_bytes <= most


def _places(m: int, n: int, k: int) -> bool:
    """Test whether the model maps the output in either layout, whose rows are whole atoms."""
    atoms = max(outer * -(-inner // ELEMENTS) for outer, inner in ((m, n), (n, m)))
    sides = zip("mnk", (m, n, k), strict=True)
    return all(size <= LARGEST[side] for side, size in sides) and atoms <= MOST_OUTPUT_ATOMS
