"""The page of rivals, from made-up tables, and the grid behind it."""

import pandas as pd
import pytest

from sysmodel.config.model import load_model
from t3.experiments.rivals.measure import BEST, BOUND, RIVALS, TRACKED, matrix
from t3.experiments.rivals.pairs import CONSUMER, pair
from t3.experiments.rivals.sections import sections

TOTALS = dict(zip(RIVALS, (1000, 900, 950, 980, 850), strict=True)) | {BEST: 880, BOUND: 600}


def row(layer, configuration, total_ns):
    return {
        **{"model": "M", "layer": layer, "program": f"{layer}-qkv", "m": 1, "n": 2, "k": 3},
        **{"system": "h200", "configuration": configuration, "total_ns": total_ns * 1e3},
        **{"link_rs_bytes": 300, "link_rs_overhead_bytes": 100},
    }


def table(t3_ns=880):
    totals = TOTALS | {BEST: t3_ns}
    return pd.DataFrame(row(layer, *one) for layer in ("op", "fc2") for one in totals.items())


def cells(section, index=0):
    return dict(zip(section.table.titles, section.table.rows[index], strict=True))


def test_t3_is_compared_with_the_fastest_rival():
    _, h200 = sections(table())
    one = cells(h200)
    assert (one["pair"], one["M x N x K"]) == ("M op to qkv", "1 x 2 x 3")
    assert one["fastest"] == "two-batch"
    assert (one["two-batch"], one[BEST], one["ideal"]) == ("850", "880", "600")
    assert one["over it"] == f"{850 / 880:.3f}"


def test_a_time_below_the_bound_is_shown():
    rows = table()
    _, sound = sections(rows)
    assert sound.broken == ()
    fused = (rows["configuration"] == "fused") & (rows["layer"] == "fc2")
    rows.loc[fused, "total_ns"] = 599e3
    _, broken = sections(rows)
    assert broken.broken == ("M fc2 to qkv: fused is faster than ideal",)


@pytest.mark.parametrize(("t3_ns", "wins"), [(800, "2 of 2"), (900, "0 of 2")])
def test_the_summary_counts_wins_and_losses(t3_ns, wins):
    one = cells(sections(table(t3_ns))[0])
    assert one["T3 wins"] == wins
    assert one["T3 over sequential"] == f"{1000 / t3_ns:.3f}x"
    assert one["rival over sequential"] == f"{1000 / 850:.3f}x"
    assert one["T3 over rival"] == f"{850 / t3_ns:.3f}x"
    assert one["of the bound"] == f"{600 / t3_ns:.0%}"
    assert one["payload"] == "75%"


def test_a_pair_ends_with_the_gemm_that_needs_the_output():
    """Llama-3-70B on 8 GPUs: 28672 x 2 / 8 columns of both projections; 64 + 2 x 8 heads."""
    model = load_model("llama-3-70b")
    sizes = {}
    for layer in ("op", "fc2"):
        program = pair(model, layer, 8)
        *_, gather, consumer = program.activities
        assert (consumer.name, consumer.needs) == (CONSUMER, (gather.name,))
        sizes[layer] = (consumer.size.m, consumer.size.n, consumer.size.k)
    assert sizes == {"op": (8192, 7168, 8192), "fc2": (8192, 1280, 8192)}


def test_the_grid_has_t3_and_its_rivals_on_each_system():
    by_system = {}
    for point in matrix().points:
        by_system.setdefault(point.system.name, set()).update(point.options.configurations)
    everywhere = {"sequential", "chunked", "two-batch", *TRACKED, BOUND}
    on_switch = {*RIVALS, *TRACKED, BOUND}
    assert by_system == {"h200": on_switch, "b200": on_switch, "mi300x": everywhere}
