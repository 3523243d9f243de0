"""The table: its columns and their values."""

import pytest

from sysmodel.lib.errors import InputError
from sysmodel.runs.columns import measured
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.rows import columns, table
from tests.support.example_run import example_result

_COLUMNS = """
    model layer tp m n k dtype system link.bandwidth_gb_per_s gpu.compute_units engine channels gpus
    configuration gemm_ns gemm_throttled_ns tracker_stall_ns rs_ns ag_ns total_ns speedup
    speedup_over_rival overlapped_communication_ns
    exposed_communication_ns gemm_slowdown gemm_waiting gemm_link gemm_contention
    gemm_slot_launch_ns gemm_slot_l2_ns gemm_slot_memory_ns gemm_slot_lds_ns gemm_slot_pipes_ns
    gemm_slot_stores_ns gemm_slot_link_ns gemm_slot_empty_ns
    dram_gemm_read_bytes dram_gemm_write_bytes
    dram_rs_read_bytes dram_rs_write_bytes dram_ag_read_bytes dram_ag_write_bytes dram_total_bytes
    link_rs_bytes link_ag_bytes link_rs_overhead_bytes link_ag_overhead_bytes
    gemm_efficiency simulated_channels simulated_share launches
    extrapolated
    activates gemm_updates rs_updates dma_reads
    cu_loads cu_stores cu_additions tiles flip_flop_clocks
    energy_dram_activate_j energy_dram_read_j
    energy_dram_write_j energy_dram_update_j energy_nmc_j energy_link_j energy_network_j
    energy_cu_j energy_dma_j energy_tracker_j energy_logic_j energy_total_j energy_reduction
    t3_power_w
""".split()


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "x"\n[[grid]]\n'
        'workload = {model = "t-nlg", layer = ["fc1", "op", "fc2"], tp = 8}\n'
        "system = {link.bandwidth_gb_per_s = 150, gpu.compute_units = 80}\n"
    )
    return load_grid(path)


def test_columns_of_the_contract(grid):
    assert columns(grid) == _COLUMNS
    assert list(table(grid, {}).columns) == _COLUMNS


def test_rows_under_every_name_in_the_grids_order(grid):
    result = example_result()
    fc, op, _ = (point.identity for point in grid.points)
    found = table(grid, {fc: measured(result)})
    names = list(result.configurations)
    assert list(found["layer"]) == ["fc1"] * len(names) + ["fc2"] * len(names)
    assert list(found["configuration"]) == 2 * names
    one, moved = result.configurations["t3"], result.configurations["t3"].dram_bytes
    row = found[found["configuration"] == "t3"].iloc[1]
    assert row["total_ns"] == one.total_ns
    assert row["speedup"] == one.speedup
    assert row["exposed_communication_ns"] == one.total_ns - one.ns["gemm"]
    assert row["dram_rs_read_bytes"] == moved.read["rs"]
    assert row["dram_total_bytes"] == sum(moved.as_dict().values())
    assert row["link_ag_bytes"] == one.link_bytes.payload["ag"]
    assert row["gemm_efficiency"] == result.efficiencies["gemm"]
    assert row["dma_reads"] == one.events.dma_reads
    assert row["energy_link_j"] == one.energy_j.link
    assert (row["energy_total_j"], row["energy_reduction"]) == (
        *(one.energy_j.total, pytest.approx(0.2)),
    )
    assert (row["link.bandwidth_gb_per_s"], row["gpu.compute_units"]) == (150.0, 80)
    assert (row["system"], row["engine"], row["channels"], row["gpus"]) == (
        *("asplos24", "rtl", "auto", "mirror"),
    )
    assert row["simulated_channels"] == 1


def test_a_point_that_lacks_a_configuration_is_left_out(grid):
    rows = measured(example_result())
    del rows["t3-mca"]
    assert table(grid, {grid.points[0].identity: rows}).empty


def test_channels_that_are_numbers_beside_auto_are_words(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "x"\n[[grid]]\nworkload = {model = "t-nlg", layer = "fc2", tp = 8}\n'
        'run = {channels = ["auto", "all"]}\n'
    )
    grid = load_grid(path)
    found = table(grid, {point.identity: measured(example_result()) for point in grid.points})
    assert set(found["channels"]) == {"auto", "32"}
    found.to_parquet(tmp_path / "table.parquet")


def test_the_program_is_an_axis_with_columns_of_its_own(tmp_path):
    """A row has no value in the columns of activities that its program lacks."""
    (tmp_path / "mine.toml").write_text(
        'base = "sublayer"\ndescription = "x"\n[activities.next]\nkind = "gemm"\n'
    )
    (tmp_path / "grid.toml").write_text(
        'title = "x"\n[[grid]]\nworkload = {model = "t-nlg", layer = "fc2", tp = 8}\n'
        'run = {program = ["sublayer", "mine.toml"]}\n'
    )
    grid = load_grid(tmp_path / "grid.toml")
    assert [point.options.program.name for point in grid.points] == ["sublayer", "mine"]
    assert len({point.identity for point in grid.points}) == 2
    assert grid.blocks[0]["run"]["program"] == ["sublayer", "mine"]
    names = columns(grid)
    assert names.index("program") == names.index("engine") - 1
    assert {*names} - {*_COLUMNS} >= {"program", "next_ns", "dram_next_read_bytes"}
    found = table(grid, {grid.points[0].identity: measured(example_result())})
    assert set(found["program"]) == {"sublayer"} and found["next_ns"].isna().all()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('"trio"', r"run\.program: 'trio' is not known; allowed: all-reduce, pair, sublayer"),
        ("3", r"run\.program.*: 3 is not allowed; allowed: a program's name"),
        ("[]", r"run\.program: \[\] is not allowed"),
    ],
)
def test_a_program_that_is_none(tmp_path, program, message):
    (tmp_path / "grid.toml").write_text(
        'title = "x"\n[[grid]]\nworkload = {model = "t-nlg", layer = "fc2", tp = 8}\n'
        f"run = {{program = {program}}}\n"
    )
    with pytest.raises(InputError, match=message):
        load_grid(tmp_path / "grid.toml")
