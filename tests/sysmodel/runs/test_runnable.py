"""Rivals that a machine can run: by its topology, its library and the workload."""

import pytest

from sysmodel.config.system import load_system, system_on
from sysmodel.runs.options import DEFAULT_CONFIGURATIONS, RunOptions
from sysmodel.runs.runnable import rivals_left_out, runnable_rivals, with_rivals
from tests.support.small_system import small_system, workload

SPLITS = ("cu-split-8", "cu-split-16", "two-batch")
GOLDEN = RunOptions(engine="golden")


@pytest.mark.parametrize(
    ("system", "size", "wanted"),
    [
        # Kernels that send to all GPUs would forward each other's packets around the ring.
        ("asplos24", (2048, 2048, 512, 8), SPLITS),
        # NCCL adds large all-reduces in the switches of eight GPUs, and uses rings for four.
        ("h200", (8192, 8192, 1024, 8), ("library", *SPLITS, "chunked", "fused")),
        ("h200", (8192, 8192, 1024, 4), (*SPLITS, "chunked", "fused")),
        # Each peer of a full mesh has a link of its own; RCCL's choice is that of ``sequential``.
        ("mi300x", (8192, 8192, 1024, 8), (*SPLITS, "chunked")),
        # 1,000 rows cannot be cut into 16 equal pieces, nor an odd number into halves.
        ("h200", (1000, 8192, 1024, 16), ("library", *SPLITS, "fused")),
        ("h200", (1001, 8192, 1024, 8), ("library", "cu-split-8", "cu-split-16", "fused")),
    ],
)
def test_what_can_run(system, size, wanted):
    found = runnable_rivals(workload(*size), load_system(system), GOLDEN)
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("system", "size", "wanted"),
    [
        (
            "asplos24",
            (2048, 2048, 512, 8),
            {
                "library": "it runs what sequential runs",
                "chunked": "no direct way from GPU 0 to GPU 1",
                "fused": "no direct way from GPU 0 to GPU 1",
            },
        ),
        (
            "mi300x",
            (8192, 8192, 1024, 8),
            {
                "library": "it runs what sequential runs",
                "fused": "it would use one of several links at a time",
            },
        ),
        ("h200", (8192, 8192, 1024, 8), {}),
    ],
)
def test_reasons_for_which_rivals_are_left_out(system, size, wanted):
    assert rivals_left_out(workload(*size), load_system(system), GOLDEN) == wanted


def test_a_rival_that_cannot_run_is_left_out_with_the_reason():
    found = rivals_left_out(workload(1001, 8192, 1024, 8), load_system("h200"), GOLDEN)
    assert found == {
        "two-batch": "two-batch cuts the 1001 rows of gemm into 2 equal parts",
        "chunked": "chunked cuts the 1001 rows of gemm into 8 equal parts",
    }


def test_a_program_can_rule_rivals_out():
    """A reduce-scatter by ring is not what the owners of a fused GEMM, or of pieces, do."""
    activities = {
        "gemm": {"kind": "gemm"},
        "rs": {"kind": "reduce-scatter", "of": "gemm", "algorithm": "ring"},
    }
    program = {"description": "by ring", "activities": activities}
    options = RunOptions(engine="golden", program=program)
    system = system_on(small_system(), "switch")
    found = runnable_rivals(workload(512, 384, 256, 4), system, options)
    assert not {"fused", "chunked"} & set(found)


def test_a_small_gpu_has_no_cus_to_give_away():
    assert runnable_rivals(workload(1024, 768, 256, 4), small_system(), GOLDEN) == ("two-batch",)


def test_rivals_stand_behind_the_base():
    found = with_rivals(workload(2048, 2048, 512, 8), load_system("asplos24"), GOLDEN)
    assert found[0] == "sequential"
    assert found[1 : 1 + len(SPLITS)] == SPLITS
    assert found[1 + len(SPLITS) :] == DEFAULT_CONFIGURATIONS[1:]
