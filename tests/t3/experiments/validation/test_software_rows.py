"""Pieces and copy engines of real GPUs: published times of GEMMs with a collective."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.config.workload import Workload
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from t3.experiments.validation.references import reference_rows
from tests.support.small_system import scaled

pytestmark = pytest.mark.verify

GPUS = 8
SCATTER = Collective("rs", "reduce-scatter", of="gemm")
KRAKEN = {"torch": "torch GEMM then RS (NCCL)", "async-tp": "PyTorch async-TP"}
KRAKEN["copy engine"] = "Triton copy-engine fused (kraken)"


def measured(source, m):
    """Times in us by implementation."""
    return {
        row["implementation"]: float(row["time_us"])
        for row in reference_rows("measured_gpus.csv")
        if row["where"].startswith(source) and row["M"] == str(m)
    }


def simulated(m, n, k, program, piece_ns=None):
    system = load_system("h100")
    if piece_ns is not None:
        system = scaled(system, chunked={"piece_ns": piece_ns})
    work = Workload(model="m", layer="l", tp=GPUS, m=m, n=n, k=k)
    names = ("sequential", "chunked")
    options = RunOptions(engine="golden", configurations=names, program=program)
    return simulate(Plan(work, system, options), counts_clocks=False).configurations


@pytest.mark.parametrize("m", [512, 1024])
def test_losses_of_a_cut_gemm_come_out(m):
    """A piece has 64 or 128 rows, and all weights are read again for each. Kraken's kernel is
    persistent; PyTorch launches pieces from the host, which takes about 40 us for each."""
    program = Program("gemm-rs", (Gemm("gemm"), SCATTER))
    real = measured("meta-pytorch/kraken#19", m)
    found = simulated(m, 4096, 14336, program)
    late = simulated(m, 4096, 14336, program, 40_000.0)
    times = {
        "torch": found["sequential"].total_ns,
        "copy engine": found["chunked"].total_ns,
        "async-tp": late["chunked"].total_ns,
    }
    for name, ns in times.items():
        bound = 0.2 if name == "torch" else 0.15
        assert ns / 1e3 == pytest.approx(real[KRAKEN[name]], rel=bound), name
    assert times["torch"] < times["copy engine"] < times["async-tp"]


def test_an_all_gather_before_a_cut_gemm():
    """PyTorch's decomposition with 17 us between pieces; the sum of the library's parts."""
    m, n, k = 2048, 3584, 8192
    gather = Collective("ag", "all-gather", of="rs")
    consumer = Gemm("next", needs=("ag",), size=(m, n, k))
    program = Program("ag-gemm", (Gemm("gemm"), SCATTER, gather, consumer))
    real = measured("pytorch/pytorch#143160", m)
    found = simulated(m, k, 64, program, 17_000.0)
    apart, cut = found["sequential"].ns, found["chunked"].ns["next"]
    assert (apart["ag"] + apart["next"]) / 1e3 == pytest.approx(real["NCCL + cuBLAS"], rel=0.05)
    assert cut / 1e3 == pytest.approx(real["decomposed async-TP"], rel=0.05)
