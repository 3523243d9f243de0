"""Output of nccl-tests and rccl-tests.

The samples show the formats of several versions; their numbers are examples, not measurements.
"""

import re

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.measured.nccl_tests import is_nccl_tests, read_nccl_tests

RANKS = "\n".join(
    f"#  Rank {i:2d} Group  0 Pid {4000 + i:6d} on      node1 device {i:2d} [0x{i:x}b] NVIDIA H200"
    for i in range(4)
)
SETTINGS = (
    "# nThread 1 nGpus 4 minBytes 65536 maxBytes 1048576 step: 16(factor) warmup iters: 40 "
    "iters: 100 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
)
HEAD = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""  # noqa: E501
FOOT = """\
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 46.2
#
"""
# Version 2.13, which does not name its program.
OLD_SCATTER = f"""{SETTINGS}{RANKS}
{HEAD}       65536          8192      half     sum      -1    10.51    6.24    4.68      0    10.40    6.30    4.73      0
     1048576        131072      half     sum      -1    14.02   74.79   56.09      0    13.87   75.60   56.70      0
{FOOT}"""  # noqa: E501
OLD_GATHER = OLD_SCATTER.replace("     sum", "    none")
# Version 2.17, started by MPI, with log lines between the rows and without validation (-c 0).
NEW_GATHER = f"""\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_gather_perf
{SETTINGS}{RANKS}
NCCL version 2.28.7+cuda12.9
{HEAD}[node1:02705] 3 more processes have sent help message help-mca-var.txt
           0             0     float    none      -1     0.21    0.00    0.00    N/A     0.20    0.00    0.00    N/A
     1048576         65536     float    none      -1    14.11   74.31   55.73    N/A    14.01   74.85   56.13    N/A
node1:4000:4100 [0] NCCL INFO comm 0x55d3 rank 0 nranks 4 - Destroy COMPLETE
{FOOT}# Collective test concluded: all_gather_perf
"""  # noqa: E501
# Out-of-place columns alone, as pages quote them.
SHORT_HEAD = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
)
SHORT = f"""{SETTINGS}{RANKS}
{SHORT_HEAD}      262144         16384     float    none      -1    11.80   22.22   16.66      0
{FOOT}"""
REDUCE = NEW_GATHER.replace("all_gather", "all_reduce").replace("    none", "     sum")


def found(text):
    rows, dropped = read_nccl_tests(text, "out.txt")
    return [(one.kind, one.gpus, one.message_bytes, one.value) for one in rows], dropped


@pytest.mark.parametrize(
    "text,expected",
    [
        (
            OLD_SCATTER,
            [
                ("reduce_scatter", 4, 65_536, 10.51),
                ("reduce_scatter", 4, 1_048_576, 14.02),
            ],
        ),
        (OLD_GATHER, [("all_gather", 4, 65_536, 10.51), ("all_gather", 4, 1_048_576, 14.02)]),
        (SHORT, [("all_gather", 4, 262_144, 11.8)]),
        (SHORT.replace("    root", "").replace("      -1", ""), [("all_gather", 4, 262_144, 11.8)]),
    ],
)
def test_out_of_place_times_of_older_versions(text, expected):
    assert is_nccl_tests(text)
    assert found(text) == (expected, [])


def test_a_newer_version_names_its_program_and_log_lines_are_no_rows():
    rows, dropped = found(NEW_GATHER)
    assert rows == [("all_gather", 4, 1_048_576, 14.11)]
    assert [(one.reason, one.rows) for one in dropped] == [("no bytes", 1)]


def test_an_all_to_all_is_known_by_the_name_of_its_program():
    rows, _ = found(NEW_GATHER.replace("all_gather", "alltoall"))
    assert rows == [("all_to_all", 4, 1_048_576, 14.11)]


def test_two_outputs_in_one_file():
    two = OLD_SCATTER.replace("Rank  3", "Rank 3") + NEW_GATHER
    assert [row[0] for row in found(two)[0]] == ["reduce_scatter"] * 2 + ["all_gather"]
    eight = OLD_SCATTER + OLD_GATHER.replace(
        RANKS, RANKS + "".join(f"\n#  Rank {i:2d} Group  0 Pid 1 on node1" for i in range(4, 8))
    )
    assert [row[1] for row in found(eight)[0]] == [4, 4, 8, 8]


@pytest.mark.parametrize(
    "text", [REDUCE, OLD_SCATTER.replace("8192", "32768").replace("131072", "524288")]
)
def test_an_all_reduce_is_left_out_with_the_reason(text):
    rows, dropped = found(text)
    assert rows == [] and [one.rows for one in dropped] == [2]
    assert "only the ring is modelled" in dropped[0].reason


def test_a_ring_over_several_hosts_is_left_out_with_their_names():
    two = OLD_SCATTER.replace("node1 device  2", "node2 device  0")
    rows, dropped = found(two + NEW_GATHER)
    assert [row[0] for row in rows] == ["all_gather"]
    assert [one.rows for one in dropped] == [2, 1]
    assert dropped[0].reason.startswith("ranks on several hosts (node1, node2), whose network")
    four = re.sub(r"node1 device  (\d)", r"node\1 device  0", OLD_SCATTER)
    assert "(node0, node1, node2, 1 more)" in found(four)[1][0].reason


@pytest.mark.parametrize(
    "tag", ["[1,0]<stdout>:", "[prterun-node1-77@1,0]<stdout>: ", "[1,0][node1:88]<stdout>:", "0: "]
)
@pytest.mark.parametrize("text", [OLD_SCATTER, NEW_GATHER, SHORT, REDUCE])
def test_tags_of_launchers_are_ignored(tag, text):
    error = "[1,3]<stderr>:a warning\n" if "std" in tag else ""
    lines = [*text.splitlines(), ""]
    tagged = "".join(f"{(tag + line).rstrip()}\n{error}" for line in lines)
    assert is_nccl_tests(tagged)
    assert found(tagged) == found(text)


def test_the_line_of_an_error_counts_tagged_lines():
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in OLD_SCATTER.splitlines())
    with pytest.raises(InputError, match=r"out.txt, line 13: time 'fast\.\.' is not a number"):
        found(tagged.replace("    14.02", "  fast.."))


def test_wrong_results_are_left_out():
    wrong = OLD_SCATTER.replace("4.68      0", "4.68     17")
    rows, dropped = found(wrong)
    assert len(rows) == 1 and [one.reason for one in dropped] == ["the test reports wrong results"]


@pytest.mark.parametrize(
    "text,message",
    [
        (OLD_SCATTER.replace("   56.09      0", ""), "line 13: '1048576.* is no row"),
        (OLD_SCATTER.replace("    14.02", "  fast.."), "line 13: time 'fast..' is not a number"),
        (OLD_SCATTER.replace("    14.02", "      nan"), "line 13: time 'nan' is not a number"),
        (OLD_SCATTER.replace("    14.02", "      inf"), "line 13: time 'inf' is not a number"),
        (OLD_SCATTER.replace("    14.02", "    -3.00"), "line 13: time '-3.00' is not a number"),
        (OLD_SCATTER.replace("    14.02", "     0.00"), "line 13: time 0 is not allowed"),
        (OLD_SCATTER.replace("1048576  ", "    inf  "), "line 13: size 'inf' is not a number"),
        (OLD_SCATTER.replace("1048576  ", "    nan  "), "line 13: size 'nan' is not a number"),
        (OLD_SCATTER.replace("1048576  ", "     -4  "), "line 13: size '-4' is not a number"),
        (OLD_SCATTER.replace("1048576  ", "1e6.5    "), "line 13: size '1e6.5' is not a number"),
        (OLD_SCATTER.replace("1048576  ", "4096.5   "), "line 13: size 4096.5 is not allowed"),
        (
            OLD_SCATTER.replace("   65536    ", "   Segmentation fault"),
            "size .Segmentation. is not",
        ),
        (OLD_SCATTER.replace(RANKS, ""), "the number of GPUs is missing"),
        (OLD_SCATTER.replace("Rank  2", "Rank  0"), "ranks .* are not one ring"),
        (OLD_SCATTER.replace("  time ", "cputime"), "line 10: the times are the CPU's"),
        (NEW_GATHER.replace("all_gather", "sendrecv"), "sendrecv_perf is not modelled"),
        (OLD_GATHER.replace("    8192", "   32768"), "line 12: the operation is not known"),
    ],
)
def test_broken_output_names_the_line(text, message):
    with pytest.raises(InputError, match=f"out.txt, .*{message}"):
        found(text)
