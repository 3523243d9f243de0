"""Catalogue of columns, and the order in which configurations are evaluated."""

from dataclasses import asdict

from sysmodel.runs.columns import SUBLAYER, measured
from sysmodel.runs.configurations.registry import evaluation_order
from tests.support.example_run import example_result


def test_values_are_those_of_the_result():
    result = example_result()
    rows = measured(result)
    assert list(rows) == list(result.configurations)
    for name, one in result.configurations.items():
        row = rows[name]
        assert list(row) == list(SUBLAYER.by_key)
        assert row["total_ns"] == one.total_ns and row["gemm_slot_pipes_ns"] > 0
        moved = one.dram_bytes.as_dict()
        assert {key: row[SUBLAYER.dram[key].key] for key in moved} == moved
        assert row["dram_total_bytes"] == sum(moved.values())
        energies = (SUBLAYER.energy[part].key for part in asdict(one.energy_j))
        assert row["energy_total_j"] == sum(row[key] for key in energies)
        assert row["simulated_channels"] == result.channels
        assert row["extrapolated"] == 0 and type(row["extrapolated"]) is int


def test_keys_end_with_their_units():
    suffixes = {"ns": "_ns", "bytes": "_bytes", "J": "_j", "W": "_w"}
    for column in SUBLAYER.by_key.values():
        assert column.key.endswith(suffixes.get(column.unit, ""))
        assert column.title and column.formula


def test_a_configuration_is_evaluated_after_those_that_it_is_derived_from():
    assert evaluation_order(["ideal-rs-nmc", "t3"]) == [
        *("sequential", "rs-nmc", "ideal-rs-nmc", "t3"),
    ]
    assert evaluation_order(["sequential", "ideal-overlap"]) == ["sequential", "ideal-overlap"]
