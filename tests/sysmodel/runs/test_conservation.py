"""Bytes that a ring all-reduce moves: closed forms, and the detection of a loss."""

import numpy as np
import pytest

from sysmodel.config.system import load_system
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.l2_tags import DIRTY
from sysmodel.lib.errors import SimulationError
from sysmodel.runs.conservation import Moves, check_conservation
from sysmodel.runs.counters import new_counters
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from sysmodel.runs.simulation import Simulation
from tests.support.configurations import ON_A_RING
from tests.support.small_kernel import bare_state, small_kernel
from tests.support.small_system import scaled, small_system, workload

N = 4
GEMM, RS, AG = range(3)
TITLES = "GEMM", "RS", "AG"
# In chunks, for each GPU: GEMM write, RS read, RS write, AG read, AG write; sent in RS and AG.
CLOSED_FORM = {
    Moves(): ([N, 2 * N - 1, N, N - 1, N - 1], [N - 1, N - 1]),
    Moves(tracked=True): ([N - 1, N - 2, N - 1, N - 1, N - 1], [N - 1, N - 1]),
    Moves(gemm=None, tracked=True, gather=None): ([0, N - 1, N - 1, 0, 0], [N - 1, 0]),
}
CATEGORIES = {
    "GEMM write": ("writes", GEMM),
    "RS read": ("reads", RS),
    "RS write": ("writes", RS),
    "AG read": ("reads", AG),
    "AG write": ("writes", AG),
    "RS link": ("link_bytes", RS),
    "AG link": ("link_bytes", AG),
}


def counted(how: Moves):
    """Ring of ``N`` real GPUs with equal chunks, and its counters if nothing is lost."""
    state, _ = bare_state(small_kernel(m=64 * N, gpus=N), gpus=N)
    chunk = int(state.chunk_start[0, 1])
    dram, link = (N * chunk * np.array(amounts) for amounts in CLOSED_FORM[how])
    output_atoms = np.array([bin(mask).count("1") for mask in state.line_request_mask]).sum()
    counts = new_counters()
    counts["reads"][GEMM] = N * output_atoms if how.gemm is not None else 0
    for (counter, phase), amount in zip(CATEGORIES.values(), [*dram, *link], strict=True):
        counts[counter][phase] = amount * (ATOM_BYTES if counter == "link_bytes" else 1)
    return state, counts


@pytest.mark.parametrize("how", CLOSED_FORM, ids=str)
def test_closed_form_is_accepted(how):
    state, counts = counted(how)
    check_conservation(state, N, how, counts, TITLES)


@pytest.mark.parametrize("how", CLOSED_FORM, ids=str)
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("change", [-1, 1])
def test_one_access_too_many_or_too_few_is_an_error(how, category, change):
    state, counts = counted(how)
    counter, phase = CATEGORIES[category]
    counts[counter][phase] += change * (ATOM_BYTES if counter == "link_bytes" else 1)
    with pytest.raises(SimulationError, match=f"not conserved: {category} "):
        check_conservation(state, N, how, counts, TITLES)


def kept(dirty: int, loaded: int, gathered: int = 0, overwritten: int = 0):
    """The sequential baseline, with atoms that were neither written to memory nor read there."""
    state, counts = counted(Moves())
    state.l2.ways[0, DIRTY, 0] = (1 << dirty) - 1
    state.gpu["overwritten"][0] = overwritten
    state.gpu["l2_reads"][0, RS] = loaded
    state.gpu["l2_reads"][0, AG] = gathered
    counts["writes"][GEMM] -= dirty + overwritten
    counts["reads"][RS] -= loaded
    counts["reads"][AG] -= gathered
    return state, counts


@pytest.mark.parametrize(
    "dirty,loaded,gathered,overwritten",
    [(3, 3, 0, 0), (3, 4, 0, 0), (0, 2, 0, 0), (0, 0, 5, 0), (2, 4, 1, 2)],
)
def test_data_held_in_the_l2_does_not_reach_the_memory(dirty, loaded, gathered, overwritten):
    state, counts = kept(dirty, loaded, gathered, overwritten)
    check_conservation(state, N, Moves(), counts, TITLES)


def test_a_partial_product_that_only_the_l2_has_must_be_read_there():
    for dirty, overwritten in ((3, 0), (1, 2)):
        state, counts = kept(dirty, 2, 9, overwritten)
        problem = "3 atoms never reached the memory, .* loaded 2 from the L2"
        with pytest.raises(SimulationError, match=problem):
            check_conservation(state, N, Moves(), counts, TITLES)


def test_the_output_of_a_gemm_beside_the_reduction_may_stay_in_the_l2():
    state, counts = kept(3, 0)
    check_conservation(state, N, Moves(beside=True), counts, TITLES)


@pytest.mark.parametrize("reads", ["none", "no reuse and one more"])
def test_impossible_reads_of_the_gemm_are_an_error(reads):
    how = Moves()
    state, counts = counted(how)
    kernel = small_kernel(m=64 * N, gpus=N)
    # Every workgroup reads its rows of A and columns of B: tile x K elements of two bytes.
    most = N * kernel.workgroups * (64 + 8) * kernel.tiling.k * 2 // ATOM_BYTES
    counts["reads"][GEMM] = most
    check_conservation(state, N, how, counts, TITLES)
    counts["reads"][GEMM] = 0 if reads == "none" else most + 1
    with pytest.raises(SimulationError, match="not conserved: GEMM read "):
        check_conservation(state, N, how, counts, TITLES)


@pytest.mark.parametrize(
    "m,n,tp,gpus",
    [
        (1024, 768, 4, "mirror"),
        pytest.param(1024, 768, 4, "all", marks=pytest.mark.verify),
        (1024, 800, 2, "mirror"),
        (1024, 800, 2, "all"),
        (1024, 768, 5, "mirror"),
    ],
)
def test_every_configuration_conserves_bytes(m, n, tp, gpus):
    # The pieces of chunked have equally many rows.
    names = [name for name in ON_A_RING if name != "chunked" or m % tp == 0]
    options = RunOptions(engine="golden", configurations=names, channels="all", gpus=gpus)
    system = small_system(compute_units=20)
    result = simulate(Plan(workload(m, n, 256, tp), system, options))
    assert set(result.configurations) == set(names)


def test_bytes_of_a_ring_with_unequal_chunks():
    """Each GPU sends all chunks but its own, and gathers all but its own: n - 1 outputs in all."""
    options = RunOptions(engine="golden", configurations=("sequential", "t3"), channels="all")
    result = simulate(Plan(workload(640, 480, 64, 7), small_system(), options))
    assert result.gpus == "all"
    output = 640 * 480 * 2
    six, five = (output // ATOM_BYTES * chunks // 7 * ATOM_BYTES for chunks in (6, 5))
    for one in result.configurations.values():
        assert one.link_bytes.payload["rs"] == one.link_bytes.payload["ag"] == output * 6 // 7
        assert one.dram_bytes.read["ag"] == one.dram_bytes.write["ag"] == six
    t3 = result.configurations["t3"].dram_bytes
    assert (t3.write["gemm"], t3.write["rs"], t3.read["rs"]) == (six, six, five)


@pytest.mark.parametrize(
    "channels", [6, *(pytest.param(n, marks=pytest.mark.verify) for n in (5, 24))]
)
def test_a_sample_of_any_number_of_channels_has_its_share_of_the_bytes(channels):
    """Bytes of a sample, times channels over simulated ones, are those of the whole memory as
    nearly as blocks of 256 bytes spread evenly."""
    system = scaled(small_system(channels=channels), l2={"capacity_mib": 1.0, "slices": channels})
    names = ("sequential", "t3")
    work = workload(1024, 768, 64, 4)
    whole, sample = (
        simulate(Plan(work, system, RunOptions(engine="golden", configurations=names, channels=n)))
        for n in ("all", 4)
    )
    chunk = 1024 * 768 * 2 // 4
    for name in names:
        one, few = whole.configurations[name], sample.configurations[name]
        assert one.link_bytes.payload["rs"] == one.link_bytes.payload["ag"] == 3 * chunk
        assert few.link_bytes.payload["rs"] == pytest.approx(3 * chunk, rel=0.05)
        assert few.dram_bytes.write["ag"] == pytest.approx(one.dram_bytes.write["ag"], rel=0.05)


@pytest.mark.verify  # compiles the cycle loop for the memory of h200
def test_a_program_that_ends_with_sums_has_written_them():
    """The last stores wait in the hardware until a cycle in which the memory takes them."""
    scatter = Collective("rs", "reduce-scatter", of="gemm")
    options = RunOptions(
        engine="golden",
        channels=32,
        configurations=("sequential",),
        program=Program("gemm-rs", (Gemm("gemm"), scatter)),
    )
    work = workload(2048, 8192, 64, 8)
    found = simulate(Plan(work, load_system("h200"), options), counts_clocks=False)
    whole = 2048 * 8192 * 2
    # Incoming partial sums of all but the first chunk, then the sum of the own one.
    assert found.configurations["sequential"].dram_bytes.write["rs"] == whole


def test_a_run_that_loses_bytes_fails(monkeypatch):
    """A run includes the check: it detects a removed read of the reduce-scatter."""
    finish = Simulation.finish

    def lossy(self, how, *times):
        self.machine.state.gpu["reads"][0, RS] -= 1
        return finish(self, how, *times)

    monkeypatch.setattr(Simulation, "finish", lossy)
    options = RunOptions(engine="golden", configurations=("sequential",), channels="all")
    with pytest.raises(SimulationError, match="not conserved: RS read"):
        simulate(Plan(workload(512, 384, 128, 2), small_system(), options))
