"""Tables of measurements, and the recognition of formats."""

from pathlib import Path

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.measured.files import read_measurements

TABLE = """\
# Numbers are examples.
kind,gpus,bytes,m,n,k,time_us,gb_per_s
reduce_scatter,8,1048576,,,,14.6,
all_gather, 4, 2097152,,,, 20.1,
gemm,,,8192,8192,1024,193,
read,,,,,,,3180
"""


@pytest.fixture
def file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "measured"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_table(file):
    rows, dropped = read_measurements([file(TABLE)])
    assert dropped == []
    assert [(one.kind, one.value, one.unit) for one in rows] == [
        ("reduce_scatter", 14.6, "µs"),
        ("all_gather", 20.1, "µs"),
        ("gemm", 193, "µs"),
        ("read", 3180, "GB/s"),
    ]
    assert (rows[0].gpus, rows[0].message_bytes) == (8, 1 << 20)
    assert (rows[2].m, rows[2].n, rows[2].k) == (8192, 8192, 1024)


def test_messages_that_the_model_cannot_cut_are_left_out(file):
    table = "kind,gpus,bytes,time_us\nall_gather,8,64,9\nall_gather,8,1048576,14\n"
    rows, dropped = read_measurements([file(table)])
    assert len(rows) == 1 and [one.rows for one in dropped] == [1]


@pytest.mark.parametrize("gpus,fits", [(2, True), (72, True), (73, False)])
def test_a_ring_has_as_many_gpus_as_a_system(file, gpus, fits):
    rows, dropped = read_measurements([file(f"{TABLE}all_gather,{gpus},1048576,,,,99,\n")])
    assert len(rows) == 4 + fits and bool(dropped) is not fits


@pytest.mark.parametrize(
    "m,n,k,fits",
    [
        (1 << 14, 1 << 15, 8, True),
        (1 << 15, 1 << 15, 8, False),
        (8, (1 << 17) + 1, 8, False),
        ((1 << 20) + 1, 8, 8, False),
        (8, 8, (1 << 20) + 1, False),
        (10**14, 10**14, 10**14, False),
    ],
)
def test_gemms_that_the_model_cannot_place_are_left_out(file, m, n, k, fits):
    """An output has at most 2^30 bytes, two for each element."""
    rows, dropped = read_measurements([file(f"{TABLE}gemm,,,{m},{n},{k},9,\n")])
    assert sum(one.kind == "gemm" for one in rows) == 1 + fits
    assert [one.rows for one in dropped] == ([] if fits else [1])
    assert all("GEMM of more than 1048576 x 131072 x 1048576" in one.reason for one in dropped)


@pytest.mark.parametrize("cell", ["0", "-1", "1e-7", "2e15", "inf", "nan", "", "18 us", "1,5"])
def test_a_value_that_is_no_measurement_names_its_line(file, cell):
    with pytest.raises(InputError, match="line 7: time_us .* is not allowed; allowed: a number"):
        read_measurements([file(f'{TABLE}gemm,,,64,64,64,"{cell}",\n')])


@pytest.mark.parametrize(
    "text,message",
    [
        ("", "is not known; allowed: the output of nccl-tests"),
        ("GPU 0 is warm\n", "is not known; allowed: the output of nccl-tests"),
        ("kind,time\ngemm,3\n", "line 1: column 'time' is not known"),
        ("kind,kind\n", "line 1: column 'kind' is not known or named twice"),
        (TABLE + "gemm,1\n", "line 7: the row has 2 cells; allowed: 8"),
        (TABLE + "alltoall,8,1,,,,1,\n", "line 7: kind 'alltoall' is not known; allowed: reduce"),
        (TABLE + "gemm,,,8192,,1024,193,\n", "line 7: n '' is not allowed"),
        (TABLE + "gemm,,,8192,10.5,1024,193,\n", "line 7: n 10.5 is not allowed"),
        (TABLE + "copy,,,,,,3,nan\n", "line 7: gb_per_s 'nan' is not allowed"),
        (TABLE + "copy,,,,,,3,-4\n", "line 7: gb_per_s '-4' is not allowed"),
        ("kind,gpus,bytes,time_us\nall_gather,8,64,9\n", "no row that can be compared"),
        ("kind,gpus,bytes,time_us\n", "no row that can be compared .no rows"),
    ],
)
def test_a_broken_file_names_the_line(file, text, message):
    with pytest.raises(InputError, match=message):
        read_measurements([file(text)])
