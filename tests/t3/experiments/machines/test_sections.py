"""The page of today's machines, from made-up tables."""

import pandas as pd
import pytest

from sysmodel.config.model import known_models
from sysmodel.config.system import load_system
from t3.experiments.machines.measure import Matrix
from t3.experiments.machines.sections import sections, summary
from t3.experiments.sweep.grid import load_grid

TOTALS = {
    **{"sequential": 1000, "fused": 850, "two-batch": 700, "t3": 800, "t3-mca": 790},
    **{"t3-critical": 780, "ideal-overlap": 750},
}


def row(system, layer, configuration, total_ns, **other):
    values = dict(
        model="M", layer=layer, tp=8, m=1, n=2, k=3, system=system, configuration=configuration,
        total_ns=total_ns, speedup=1000 / total_ns, gemm_ns=500.0, ag_ns=200.0, gemm_slowdown=1.25,
        gemm_efficiency=0.75, link_ag_bytes=200 * 0.6 * 450, link_ag_overhead_bytes=200 * 0.3 * 450,
        simulated_channels=16, launches=1,
        extrapolated=0, channels="auto", link_rs_bytes=300, link_rs_overhead_bytes=100,
    )  # fmt: skip
    return values | other


def matrix(*, late=0.0, **other):
    rows = [
        row(system, layer, name, total + (late if name == "t3-critical" else 0), **other)
        for system in ("h200", "asplos24")
        for layer in ("op", "fc2")
        for name, total in TOTALS.items()
    ]
    sampled = [
        row(system, "fc2", name, total, channels=channels, simulated_channels=count)
        for system in ("h200", "asplos24")
        for channels, count, share in (("auto", 16, 1), ("256", 256, 1.25))
        for name, total in (("sequential", 1000), ("t3-critical", 780 * share))
    ]
    return Matrix(table=pd.DataFrame(rows), sampled=pd.DataFrame(sampled))


def of(found, title):
    (one,) = [section for section in found if section.title == title]
    return one


def cells(section, index=0):
    return dict(zip(section.table.headings, section.table.rows[index], strict=True))


def test_a_sublayer_s_row_by_hand():
    one = cells(of(sections(matrix()), "h200"))
    assert one["sublayer"] == "M op"
    assert one["t3-critical"] == f"{1000 / 780:.3f}"
    assert one["of ideal"] == f"{750 / 780:.1%}"
    assert (one["rival:"], one["over it"]) == ("two-batch", f"{700 / 780:.3f}")
    assert one["behind (%)"] == f"{100 * (780 / 790 - 1):+.2f}"
    assert (one["GEMM (%)"], one["RS after it (%)"], one["AG (%)"]) == ("64", "10", "26")
    assert one["bound:"] == "pipes 60%"
    assert one["simulated:"] == "16 channels"


def test_what_the_link_bounds():
    one = cells(of(sections(matrix(gemm_ns=100.0)), "h200"))
    assert one["bound:"] == "link 90%"


def test_launches_and_extrapolation_are_said():
    one = cells(of(sections(matrix(launches=3, extrapolated=1)), "h200"))
    assert one["simulated:"] == "16 channels, 3 launches, extrapolated"


def test_a_policy_that_is_behind_breaks_the_bound():
    found = sections(matrix(late=30))
    assert (
        of(found, "h200").broken[0] == "M op: t3-critical is 2.53 % behind the best of the others"
    )
    assert of(sections(matrix()), "h200").broken == ()


def test_a_time_below_the_bound_is_shown():
    whole = matrix()
    bound = [row(system, "op", "ideal", 781) for system in ("h200", "asplos24")]
    found = sections(Matrix(pd.concat([whole.table, pd.DataFrame(bound)]), whole.sampled))
    broken = [f"M op: {name} is faster than ideal" for name in ("two-batch", "t3-critical")]
    assert of(found, "h200").broken == (
        *broken,
        "M op: ideal-overlap is faster than ideal",
    )


def test_summary_and_sampling():
    found = sections(matrix())
    summary = cells(of(found, "Summary"))
    assert (summary["system"], summary["sublayers"]) == ("h200", "2")
    assert summary["payload"] == "75%"
    assert summary["of ideal"] == f"{750 / 780:.1%}"
    assert (summary["rival"], summary["wins"]) == (f"{1000 / 700:.3f}x", "0 of 2")
    assert summary["over it"] == f"{700 / 780:.3f}x"
    sampled = of(found, "Sampled channels against all")
    assert cells(sampled, 0)["total"] == "+0.0"
    assert cells(sampled, 1)["total"] == "-20.0"
    assert cells(sampled, 1)["channels"] == "16 of 256"


def test_the_committed_page_has_the_means_the_sample_and_every_broken_bound():
    means, sampled = summary(sections(matrix(late=30)))
    assert (means.title, sampled.title) == ("Summary", "Sampled channels against all")
    titles = [line.split(":")[0] for line in means.broken]
    assert titles == ["h200"] * 2 + ["asplos24"] * 2


# All channels of mi300x, whose GPUs are all simulated, take most of an hour.
@pytest.mark.parametrize(("name", "left_out"), [("matrix", set()), ("sampled", {"mi300x"})])
def test_grids_are_sound_and_have_what_the_page_shows(name, left_out):
    from t3.experiments.machines import measure

    grid = load_grid(measure._HERE / f"{name}.toml")
    systems = {point.system.name for point in grid.points}
    assert systems == {"asplos24", "h200", "mi300x", "b200"} - left_out
    assert all(load_system(one) for one in systems)
    models = {point.workload.model for point in grid.points}
    assert models <= {model.name for model in known_models()}
