"""Fused GEMM against closed forms: bytes, times, the addresses of its stores, and refusals."""

from functools import cache

import numpy as np
import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system, system_on
from sysmodel.config.workload import LARGEST_TP
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS, OUTPUT_ATOM
from sysmodel.lib.errors import InputError
from sysmodel.lib.interleave import MOST_CHANNELS, channel_of_atom
from sysmodel.machine.program import place_offsets
from sysmodel.network.windows import PLACE_ATOM_BITS, window_atoms
from sysmodel.runs.collective_kernels import CollectivePlan
from sysmodel.runs.options import RunOptions
from sysmodel.runs.owner_stores import owner_atoms
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_kernel import bare_state
from tests.support.small_system import context_of, scaled, small_system, workload

N = 4
SYSTEM = system_on(small_system(), "switch")
RATE = SYSTEM.link.stores_gb_per_s
LAUNCH = SYSTEM.gpu.kernel_launch_ns


@cache
def run(
    m=512,
    n=384,
    k=256,
    gpus=N,
    topology="switch",
    mirror="mirror",
    configurations=("sequential", "fused"),
    link=(),
    fused=(),
    gpu=(),
    kernel=(),
    repeat=1,
    channels="all",
):
    changes = {"link": dict(link), "fused": dict(fused), "gpu": dict(gpu), "kernel": dict(kernel)}
    system = scaled(system_on(SYSTEM, topology), **changes)
    options = RunOptions(
        engine="golden",
        channels=channels,
        gpus=mirror,
        configurations=configurations,
        repeat=repeat,
    )
    return simulate(Plan(workload(m, n, k, gpus), system, options), counts_clocks=False)


# The last output cannot be cut into equal chunks.
@pytest.mark.parametrize(("gpus", "m", "n"), [(4, 512, 384), (2, 512, 384), (3, 500, 330)])
def test_every_byte_is_that_of_the_closed_form(gpus, m, n):
    """A GPU keeps its own chunk, sends all others, and adds N contributions; the all-gather is the
    library's. The conservation of a run checks each chunk, here the sums over all."""
    found = run(m, n, gpus=gpus)
    fused, base = (found.configurations[name] for name in ("fused", "sequential"))
    whole = n * -(-m * 2 // ATOM_BYTES) * ATOM_BYTES  # a column has whole atoms
    assert fused.dram_bytes.write["gemm"] * gpus == pytest.approx(whole, abs=gpus * ATOM_BYTES)
    for moved in (fused.dram_bytes.read["rs"], fused.dram_bytes.write["rs"]):
        assert moved == pytest.approx(whole, abs=ATOM_BYTES)
    sent = fused.link_bytes.payload["rs"]
    assert sent * gpus == pytest.approx((gpus - 1) * whole, abs=gpus * ATOM_BYTES)
    assert fused.link_bytes.payload["ag"] == base.link_bytes.payload["ag"]


@pytest.mark.parametrize("k", [64, 256, 1024])
def test_no_fused_gemm_is_faster_than_its_parts(k):
    """At least the GEMM alone and the sum; at least the wire; at most everything in a row."""
    found = run(k=k).configurations
    fused, base = found["fused"], found["sequential"]
    chunk = 512 * 384 * 2 / N
    wire_ns = (N - 1) * chunk / RATE
    sum_ns = (N + 1) * chunk / SYSTEM.dram_bytes_per_ns
    fixed_ns = LAUNCH + SYSTEM.fused.flag_ns
    until_sum = fused.total_ns - fused.ns["ag"]
    assert until_sum >= max(0.97 * base.ns["gemm"], LAUNCH + wire_ns) + fixed_ns + sum_ns
    assert until_sum <= base.ns["gemm"] + wire_ns + fixed_ns + 4 * sum_ns + 5000
    assert fused.ns["ag"] <= 1.02 * base.ns["ag"]


def test_a_slow_link_holds_the_stores():
    fast = run().configurations["fused"]
    slow = run(link=(("bandwidth_gb_per_s", SYSTEM.link.bandwidth_gb_per_s / 8),))
    wire_ns = (N - 1) * 512 * 384 * 2 / N / (RATE / 8)
    assert slow.configurations["fused"].ns["gemm"] > 0.9 * wire_ns > 2 * fast.ns["gemm"]


def test_the_stores_have_their_own_share_of_the_line():
    share = 0.5
    half = run(fused=(("stores_payload_share", share),)).configurations["fused"]
    full = run().configurations["fused"]
    sent = half.link_bytes
    assert sent.overhead["rs"] == pytest.approx(sent.payload["rs"] * (1 / share - 1), abs=1)
    assert sent.overhead["ag"] == 0
    assert half.ns["ag"] == pytest.approx(full.ns["ag"], rel=0.01)
    assert half.ns["gemm"] > full.ns["gemm"]


def test_the_places_of_all_peers_fit_into_the_addresses():
    """The more channels, the further apart are the places."""
    last = place_offsets(MOST_CHANNELS, LARGEST_TP)[-1]
    assert OUTPUT_ATOM + MOST_OUTPUT_ATOMS + last < 1 << PLACE_ATOM_BITS


@pytest.mark.verify  # compiles the cycle loop for the memory of b200
def test_the_places_of_a_memory_with_256_channels():
    options = RunOptions(engine="golden", configurations=("fused",))
    plan = Plan(workload(2048, 1024, 64, 8), load_system("b200"), options)
    assert plan.mirror
    found = simulate(plan, counts_clocks=False).configurations["fused"]
    assert found.link_bytes.payload["rs"] == 2048 * 1024 * 2 * 7 // 8


@pytest.mark.parametrize("channels", ["all", 1])
def test_cus_limit_the_rate_of_their_stores(channels):
    """A quarter of the links' rate takes as long as links of a quarter; the packets, and the other
    kernels, are as before."""
    gb_per_s = RATE / 4 / SYSTEM.gpu.compute_units
    limit = (("cu_stores_gb_per_s", gb_per_s),)
    slow = run(fused=limit, channels=channels).configurations["fused"]
    full = run(channels=channels).configurations["fused"]
    wire_ns = (N - 1) * 512 * 384 * 2 / N / (RATE / 4)
    assert wire_ns < slow.ns["gemm"] < 1.2 * wire_ns + LAUNCH
    assert slow.link_bytes == full.link_bytes
    assert slow.dram_bytes == full.dram_bytes
    assert slow.ns["ag"] == pytest.approx(full.ns["ag"], rel=0.01)


def test_sums_take_longer_on_fewer_cus():
    port = 16  # bytes a cycle: one CU's port takes longer than the memory
    gpu = (("cu_bandwidth_bytes_per_cycle", port),)
    one = run(fused=(("sum_compute_units", 1),), gpu=gpu).configurations["fused"]
    whole = run(gpu=gpu).configurations["fused"]
    port_ns = 512 * 384 * 2 / (port * SYSTEM.gpu.clock_mhz / 1e3)
    assert one.ns["gemm"] == whole.ns["gemm"]
    assert port_ns < one.total_ns - one.ns["gemm"] - one.ns["ag"]
    assert one.total_ns - whole.total_ns > port_ns / 2
    assert one.dram_bytes == whole.dram_bytes


def test_sums_keep_to_their_share_of_the_memory():
    share = 0.2
    slow = run(fused=(("sum_memory_share", share),)).configurations["fused"]
    sum_ns = (N + 1) / N * 512 * 384 * 2 / (share * SYSTEM.dram_bytes_per_ns)
    found = slow.total_ns - slow.ns["ag"] - slow.ns["gemm"] - LAUNCH - SYSTEM.fused.flag_ns
    assert sum_ns < found < 1.1 * sum_ns + 1000
    assert slow.dram_bytes == run().configurations["fused"].dram_bytes


def test_staged_tiles_leave_the_compute_units_to_the_next():
    """Where a tile holds the CU until it has left, more of the wire adds to the GEMM."""
    rate = (("bandwidth_gb_per_s", SYSTEM.link.bandwidth_gb_per_s / 3),)
    tiles = (("pipe_turns", "tiles"),)
    sizes = dict(m=1024, k=1024, link=rate, kernel=tiles)
    held, staged = (
        run(fused=(("staged_stores", one),), **sizes).configurations["fused"]
        for one in (False, True)
    )
    alone_ns = run(**sizes).configurations["sequential"].ns["gemm"]
    wire_ns = (N - 1) * 1024 * 384 * 2 / N / (RATE / 3)
    assert held.ns["gemm"] > alone_ns + 0.4 * wire_ns
    assert alone_ns < staged.ns["gemm"] < alone_ns + 0.3 * wire_ns
    assert staged.dram_bytes.write == held.dram_bytes.write


def test_a_flag_takes_its_time():
    late = run(fused=(("flag_ns", SYSTEM.fused.flag_ns + 3000),)).configurations["fused"]
    assert late.total_ns - run().configurations["fused"].total_ns == pytest.approx(3000, abs=200)


def test_a_fused_gemm_leaves_other_configurations_as_they_are():
    found, alone = run(), run(configurations=("sequential",))
    base, same = (one.configurations["sequential"] for one in (found, alone))
    assert (base.ns, base.dram_bytes, base.energy_j) == (same.ns, same.dram_bytes, same.energy_j)


@pytest.mark.parametrize("slower", [1, 3])
@pytest.mark.parametrize("channels", ["all", 1])
def test_one_gpu_stands_for_all(slower, channels):
    """The same bytes, and times that differ by how the packets of several GPUs share a switch."""
    sizes = dict(m=1024, n=768, k=512, channels=channels)
    sizes["link"] = (("bandwidth_gb_per_s", SYSTEM.link.bandwidth_gb_per_s / slower),)
    mirror, every = run(**sizes), run(**sizes, mirror="all")
    assert (mirror.gpus, every.gpus) == ("mirror", "all")
    one, all_of_them = (found.configurations["fused"] for found in (mirror, every))
    assert one.dram_bytes == all_of_them.dram_bytes
    assert one.link_bytes == all_of_them.link_bytes
    assert one.ns["gemm"] == pytest.approx(all_of_them.ns["gemm"], rel=0.03)
    assert one.total_ns == pytest.approx(all_of_them.total_ns, rel=0.03)


def test_repetitions_vary_in_time_alone():
    found = run(repeat=2)
    first, second = found.configurations["fused"], found.varied[0]["fused"]
    assert first.link_bytes == second.link_bytes
    assert first.dram_bytes.write == second.dram_bytes.write
    assert first.total_ns != second.total_ns


def test_two_runs_are_equal():
    run_again = run.__wrapped__().configurations
    assert run_again["fused"] == run().configurations["fused"]


def test_a_full_mesh_has_direct_ways():
    found = run(topology="fully-connected").configurations["fused"]
    assert found.link_bytes.payload["rs"] == 512 * 384 * 2 * (N - 1) // N


@pytest.mark.parametrize("topology", ["ring", "ring-both", "torus-2d"])
def test_a_topology_without_direct_ways_is_refused(topology):
    with pytest.raises(InputError, match="configurations: fused stores from each GPU to each"):
        run(topology=topology, gpus=16, n=1536)


@pytest.mark.parametrize(
    "reduction",
    [
        {"kind": "all-reduce", "of": "g"},
        {"kind": "reduce-scatter", "of": "g", "algorithm": "ring"},
    ],
)
def test_another_reduction_is_refused(reduction):
    program = {"description": "x", "activities": {"g": {"kind": "gemm"}, "r": reduction}}
    options = RunOptions(engine="golden", configurations="fused", program=program)
    with pytest.raises(InputError, match="activities.r: fused does not run .*; allowed: red"):
        Plan(workload(512, 384, 256, N), SYSTEM, options)


@pytest.mark.parametrize("gpus", [2, 3, 4])
def test_each_sum_reads_what_the_stores_of_all_gpus_have_written(gpus):
    """The places that the owners add are those to which the GPUs store, each once, in the channel
    of the output's atom."""
    options = RunOptions(engine="golden", channels="all", gpus="all")
    kernel = context_of(workload(512, 384, 64, gpus), SYSTEM, options).kernel
    channels = SYSTEM.dram.channels
    state, atoms = bare_state(kernel, gpus=gpus, channels=channels, channel_bits=2)
    schedule = expanded(algorithm("direct").schedule("reduce-scatter", gpus))
    (half,) = CollectivePlan(kernel, SYSTEM, schedule).halves
    send, add = half.steps
    stored = owner_atoms(
        state, kernel, [half.layout.tasks(g, one) for g, one in enumerate(send.work)]
    )
    places: list[list[int]] = [[] for _ in range(gpus)]
    for g in range(gpus):
        leaves = stored[g] != atoms.atom
        places[g] += stored[g][~leaves].tolist()
        for owner in set(range(gpus)) - {g}:
            window = window_atoms((owner - g) % gpus if half.layout.windowed else 0, channels)
            chunk = np.repeat(kernel.chunks.of_workgroup == owner, np.diff(atoms.start))
            assert leaves[chunk].all()
            places[owner] += (stored[g][chunk] - window).tolist()
    for g, work in enumerate(add.work):
        (task,) = half.layout.tasks(g, work)
        read = []
        for c in range(channels):
            row = state.chunk_atom[c, : state.chunk_start[c, -1]]
            index = np.arange(*state.chunk_start[c, g : g + 2])
            for operand in task.operands:
                read += (row[(index + operand.rotation) % len(row)] + operand.offset).tolist()
        assert sorted(read) == sorted(places[g])
        assert len(set(read)) == len(read)
    for atom, moved in zip(atoms.atom, stored[0], strict=True):
        assert channel_of_atom(int(moved), 3, channels) == channel_of_atom(int(atom), 3, channels)
