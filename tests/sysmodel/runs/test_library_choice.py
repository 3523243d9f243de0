"""Choice of the library's algorithm, and the configuration that runs it."""

import pytest

from sysmodel.config.system import load_system, system_on
from sysmodel.runs.library_choice import library_choice
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.files import load_program
from sysmodel.runs.run_network import RunNetwork
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload

KIB, MIB = 1 << 10, 1 << 20
SYSTEM = small_system()
IN_SWITCH = {
    **{"waves_per_cu": 2, "bytes_in_flight_per_wave": 4096},
    **{"least_gpus": 3, "least_message_kib": 64, "fixed_ns": 5000, "fill_share": 0.5},
    **{"most_fill_ns": 2000, "payload_share": 0.5},
    **{"large_message_mib": 64, "large_payload_share": 0.75},
}


def chosen(system, gpus, message_bytes, operation="all-reduce"):
    return library_choice(RunNetwork(load_system(system), gpus), operation, message_bytes)


@pytest.mark.parametrize(
    ("system", "gpus", "message_bytes", "name"),
    [
        # NCCL adds in the switch from 2 MiB on, on Hopper from the 5th GPU, on B200 from the 6th.
        ("h200", 8, 2 * MIB, "in-switch"),
        ("h200", 8, 2 * MIB - 1, "ring"),
        ("h200", 5, 2 * MIB, "in-switch"),
        ("h200", 4, 128 * MIB, "ring"),
        ("h100", 8, 128 * MIB, "in-switch"),
        ("h800", 8, 128 * MIB, "in-switch"),
        ("b200", 6, 128 * MIB, "in-switch"),
        ("b200", 5, 128 * MIB, "ring"),
        ("a100", 8, 128 * MIB, "ring"),
        ("rtx4090", 8, 128 * MIB, "ring"),
        ("asplos24", 8, 128 * MIB, "ring"),
        ("mi300x", 8, 256 * KIB, "direct"),
        ("mi300x", 8, 256 * KIB + 1, "multi-ring"),
        ("mi300x", 8, 128 * MIB, "multi-ring"),
    ],
)
def test_all_reduces_by_size_gpus_and_system(system, gpus, message_bytes, name):
    assert chosen(system, gpus, message_bytes) == name


@pytest.mark.parametrize("operation", ["reduce-scatter", "all-gather"])
def test_halves_alone_go_around_rings(operation):
    assert chosen("h200", 8, 128 * MIB, operation) == "ring"
    assert chosen("mi300x", 8, 64 * KIB, operation) == "multi-ring"


def test_topologies_decide():
    assert chosen({"base": "h200", "topology": "switch"}, 8, 128 * MIB) == "ring"
    assert chosen({"base": "mi300x", "topology": "switch"}, 8, 64 * KIB) == "ring"
    named = {"base": "h200", "collective.algorithm": "direct"}
    assert chosen(named, 8, 128 * MIB) == "direct"


def simulated(system, configurations, gpus=4, program=None):
    more = {} if program is None else {"program": load_program(program)}
    options = RunOptions(engine="golden", channels="all", configurations=configurations, **more)
    return simulate(Plan(workload(512, 96 * gpus, 64, gpus), system, options))


def reducing(**values):
    """Small system whose library reduces in the switch."""
    collective = SYSTEM.collective.model_dump() | {"in_switch": IN_SWITCH | values}
    data = SYSTEM.model_dump() | {"collective": collective}
    return system_on(type(SYSTEM).model_validate(data), "nvswitch")


def test_library_is_sequential_where_it_chooses_the_same():
    alone = simulated(SYSTEM, ("sequential",))
    both = simulated(SYSTEM, ("sequential", "library"))
    one, other = (both.configurations[name] for name in ("sequential", "library"))
    assert one.ns == other.ns and one.dram_bytes == other.dram_bytes
    assert both.cycles == alone.cycles  # nothing is simulated twice
    assert both.library == {"rs": "ring", "ag": "ring"} and alone.library == {}


def test_library_runs_both_halves_as_one_all_reduce():
    gpus, system = 4, reducing()
    found = simulated(system, ("sequential", "library"), gpus)
    sequential, library = (found.configurations[name] for name in ("sequential", "library"))
    assert found.library == {"rs": "in-switch", "ag": "in-switch"}
    assert found.as_dict()["network"]["library"] == found.library
    assert found.as_dict()["network"]["algorithm"] == "ring"
    assert library.ns["gemm"] == sequential.ns["gemm"]
    assert library.ns["rs"] == pytest.approx(library.ns["ag"], abs=2 * system.cycle_ns)
    assert library.total_ns == pytest.approx(sum(library.ns.values()), abs=system.cycle_ns)
    chunk = 512 * 96 * 2
    assert sum(library.link_bytes.payload.values()) == (gpus + 1) * chunk
    assert library.dram_bytes.write["rs"] + library.dram_bytes.write["ag"] == gpus * chunk
    # (N + 1) c over half of the line, and the costs of the library.
    wire_ns = (gpus + 1) * chunk / (0.5 * system.link.bandwidth_gb_per_s)
    costs_ns = 5000 + min(0.5 * wire_ns, 2000) + system.gpu.kernel_launch_ns
    reduced_ns = library.ns["rs"] + library.ns["ag"]
    # With 16 wavefronts of the CUs in all, the links are not always busy.
    assert wire_ns + costs_ns < reduced_ns < 1.2 * wire_ns + costs_ns


def test_costs_follow_the_size():
    table = load_system("h200").collective.in_switch
    small, middle, large = (table.protocol(9, mib * MIB, 8, 364.5) for mib in (2, 1024, 16384))
    assert small.reduce_scatter_ns < middle.reduce_scatter_ns
    assert (
        middle.reduce_scatter_ns == large.reduce_scatter_ns == table.fixed_ns + table.most_fill_ns
    )
    assert small.share_of_stores == middle.share_of_stores < large.share_of_stores
