"""Metrics against values computed by hand, or by the closed forms of the brief."""

import math

import pandas as pd
import pytest

from t3.experiments.evaluation.metrics import METRICS
from t3.experiments.evaluation.study import Case
from tests.support.example_study import SETTINGS, example_study, table_of

POINTS = [("T-NLG", 8, "op"), ("T-NLG", 8, "fc2"), ("T-NLG", 16, "fc2"), ("GPT-3", 32, "op")]
MAIN = POINTS[:3]
FREE = Case("free", 150.0)


def with_values(**values):
    """A study of four sublayers in one case; each keyword is a column, and gives for a
    configuration its values in the order of ``POINTS``."""
    table = table_of(SETTINGS[:1], POINTS)
    for column, of in values.items():
        for configuration, numbers in of.items():
            for (model, tp, layer), number in zip(POINTS, numbers, strict=True):
                here = (table["model"] == model) & (table["tp"] == tp) & (table["layer"] == layer)
                table.loc[here & (table["configuration"] == configuration), column] = number
    return example_study(table=table)


def metric(study, name, case=FREE, **arguments):
    return METRICS[name](study, case, **arguments)


TOTALS = {
    "sequential": (300.0, 600.0, 900.0, 100.0),
    "t3": (200.0, 500.0, 800.0, 80.0),
    "t3-mca-paper": (150.0, 480.0, 720.0, 50.0),
    "ideal-overlap": (160.0, 400.0, 600.0, 40.0),
    "ideal-rs-nmc": (150.0, 400.0, 600.0, 40.0),
}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("speedup", {"configuration": "t3", "statistic": "max"}, 1.5),
        ("speedup", {"configuration": "t3", "statistic": "mean"}, (1.5 + 1.2 + 1.125) / 3),
        (
            "speedup",
            {"configuration": "t3-mca-paper", "statistic": "geomean"},
            (2.0 * 1.25 * 1.25) ** (1 / 3),
        ),
        ("speedup", {"configuration": "t3", "statistic": "max", "layers": "fc"}, 1.2),
        ("speedup", {"configuration": "t3-mca-paper", "statistic": "max", "group": "large"}, 2.0),
        (
            "gain",
            {"configuration": "t3-mca-paper", "over": "t3", "statistic": "max"},
            100 * (200 / 150 - 1),
        ),
        (
            "gain",
            {"configuration": "ideal-rs-nmc", "over": "ideal-overlap", "statistic": "geomean"},
            100 * ((160 / 150) ** (1 / 3) - 1),
        ),
    ],
)
def test_ratios_of_totals(name, arguments, expected):
    study = with_values(total_ns=TOTALS)
    assert metric(study, name, **arguments) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # The ideal takes 160, 400 and 600 us; its RS takes 95 us without the launch of 5 us.
        # The largest shortfall is where the ideal's share is the smallest: 600 of 800.
        ({"configuration": "t3", "statistic": "min"}, 25.0),
        ({"configuration": "t3", "statistic": "mean", "layers": "op"}, 20.0),
        # Faster than the ideal: nothing is missing.
        ({"configuration": "t3-mca-paper", "statistic": "max", "layers": "op"}, -100 / 15),
    ],
)
def test_the_ideal_pays_no_launch_of_its_reduce_scatter(arguments, expected):
    totals = {name: [1e3 * total for total in of] for name, of in TOTALS.items()}
    study = with_values(
        total_ns=totals,
        gemm_ns={"sequential": (60e3, 300e3, 500e3, 1e3)},
        rs_ns={"sequential": (100e3, 100e3, 100e3, 1e3)},
        ag_ns={"sequential": (65e3, 100e3, 100e3, 1e3)},
    )
    assert metric(study, "shortfall", **arguments) == pytest.approx(expected, rel=1e-12)


def test_concurrent_ideal_and_slowdowns():
    study = with_values(
        gemm_ns={"sequential": (100.0, 400.0, 300.0, 1.0)},
        rs_ns={"sequential": (60.0, 110.0, 170.0, 1.0), "cu-split-8": (90.0, 150.0, 250.0, 1.0)},
        ag_ns={"sequential": (40.0, 90.0, 130.0, 1.0), "cu-split-8": (60.0, 100.0, 200.0, 1.0)},
        gemm_slowdown={"cu-split-8": (1.1, 1.2, 1.25, 9.0)},
    )
    ideal = metric(study, "concurrent_ideal", statistic="geomean")
    assert ideal == pytest.approx((2.0 * 1.5 * 2.0) ** (1 / 3))
    slower = metric(study, "all_reduce_slowdown", configuration="cu-split-8")
    assert slower == pytest.approx(100 * ((1.5 * 1.25 * 1.5) ** (1 / 3) - 1))
    gemm = metric(study, "gemm_slowdown", configuration="cu-split-8")
    assert gemm == pytest.approx(100 * ((1.1 * 1.2 * 1.25) ** (1 / 3) - 1))


def test_reduce_scatter_gain():
    study = with_values(
        rs_ns={"sequential": (107.0, 214.0, 103.0, 1.0), "ideal-rs-nmc": (100.0, 200.0, 100.0, 1.0)}
    )
    assert metric(study, "reduce_scatter_gain", group="tp8") == pytest.approx(7)
    assert metric(study, "reduce_scatter_gain", group="tp16") == pytest.approx(3)


@pytest.mark.parametrize(("group", "n"), [("tp8", 8), ("tp16", 16)])
def test_bytes_follow_the_closed_forms(group, n):
    study = example_study()
    assert metric(study, "traffic_ratio", kinds="rs_read", group=group) == pytest.approx(
        (2 * n - 1) / (n - 2)
    )
    writes = metric(study, "traffic_cut", kinds="gemm_write rs_write", group=group)
    assert writes == pytest.approx(100 / n)
    every = "gemm_write rs_read rs_write ag_read ag_write"
    cut = metric(study, "traffic_cut", kinds=every, group=group)
    assert cut == pytest.approx(100 * (1 - (5 * n - 6) / (6 * n - 3)))


def test_closed_forms_are_those_of_the_paper():
    study = example_study()
    assert metric(study, "traffic_ratio", kinds="rs_read") == pytest.approx(2.35, abs=0.01)
    cut = metric(study, "traffic_cut", kinds="gemm_write rs_write")
    assert 1 / (1 - cut / 100) == pytest.approx(1.104, abs=0.001)
    assert metric(study, "traffic_ratio", kinds="gemm_read") == pytest.approx(1.25)
    assert metric(study, "traffic_ratio", kinds="ag_read ag_write") == 1


def test_saving_of_all_traffic():
    study = with_values(
        dram_total_bytes={
            "sequential": (100.0, 200.0, 400.0, 100.0),
            "t3-mca-paper": (80.0, 150.0, 256.0, 10.0),
        }
    )
    assert metric(study, "traffic_saving", statistic="max") == pytest.approx(36)
    assert metric(study, "traffic_saving", statistic="mean") == pytest.approx((20 + 25 + 36) / 3)


def test_twice_the_compute():
    table = table_of([SETTINGS[0], SETTINGS[4], SETTINGS[2]], POINTS)
    mca, doubled = table["configuration"] == "t3-mca-paper", table["gpu.compute_units"] == 160
    fc = table["layer"] == "fc2"
    for here, speedup in ((fc, 1.2), (~fc, 1.3), (fc & doubled, 1.5), (~fc & doubled, 1.17)):
        table.loc[mca & here, "speedup"] = speedup
    study = example_study(table=table)
    change = {"configuration": "t3-mca-paper"}
    assert metric(study, "doubled_compute_change", layers="fc", **change) == pytest.approx(25)
    assert metric(study, "doubled_compute_change", layers="op", **change) == pytest.approx(-10)
    not_run = metric(study, "doubled_compute_change", Case("free", 75.0), layers="fc", **change)
    assert math.isnan(not_run)


def test_whole_models():
    table = example_study().models
    doubled = table["gpu.compute_units"] == 160
    training = (table["link.bandwidth_gb_per_s"] == 150.0) & (table["phase"] == "training")
    training &= (table["variant"] == "megatron") & (table["gpu.dispatch"] == "free")
    for (model, tp), speedup in {("T-NLG", 8): 1.1, ("T-NLG", 16): 1.2, ("GPT-3", 32): 1.4}.items():
        here = training & (table["model"] == model) & (table["tp"] == tp)
        table.loc[here & ~doubled & (table["configuration"] == "t3"), "speedup"] = speedup
        sequential = here & (table["configuration"] == "sequential")
        table.loc[sequential & ~doubled, "communication_share"] = speedup - 1
        table.loc[sequential & doubled, "communication_share"] = speedup - 0.9
    table = table[table["model"].isin(["T-NLG", "GPT-3"])]
    study = example_study(models=table)
    of = {"configuration": "t3", "phase": "training", "group": "main"}
    assert metric(study, "model_gain", statistic="max", **of) == pytest.approx(20)
    geomean = metric(study, "model_gain", statistic="geomean", **of)
    assert geomean == pytest.approx(100 * (math.sqrt(1.1 * 1.2) - 1))
    share = {"phase": "training", "group": "main"}
    assert metric(study, "communication_share", **share) == pytest.approx(20)
    assert metric(study, "communication_share", compute="doubled", **share) == pytest.approx(30)
    assert math.isnan(
        metric(study, "communication_share", Case("free", 75.0), compute="doubled", **share)
    )


def test_what_was_not_measured_is_nan_and_not_zero():
    study = example_study()
    for name, arguments in {
        "speedup": {"configuration": "t3", "statistic": "geomean"},
        "traffic_saving": {"statistic": "max"},
        "traffic_ratio": {"kinds": "rs_read"},
        "concurrent_ideal": {"statistic": "geomean"},
        "model_gain": {
            "configuration": "t3",
            "phase": "prompt",
            "statistic": "max",
            "group": "main",
        },
    }.items():
        assert math.isnan(metric(study, name, Case("free", 37.5), **arguments)), name


def test_order_of_the_rows_does_not_matter():
    table = table_of()
    turned = example_study(table=pd.DataFrame(table.iloc[::-1].reset_index(drop=True)))
    arguments = {"configuration": "t3", "over": "sequential", "statistic": "geomean"}
    assert metric(turned, "gain", **arguments) == pytest.approx(
        metric(example_study(), "gain", **arguments), rel=1e-12
    )
