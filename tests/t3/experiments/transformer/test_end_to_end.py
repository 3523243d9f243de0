"""Whole models: limits, Amdahl's law, and tables that cannot be used."""

import itertools

import pandas as pd
import pytest

from sysmodel.config.model import known_models, workload_of
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from t3.experiments.transformer.end_to_end import PHASES, VARIANTS, end_to_end

LINK, CUS = "link.bandwidth_gb_per_s", "gpu.compute_units"
LAYERS = ("op", "fc1", "fc2", "ip")
SYSTEM = load_system("asplos24")
# Times in ns of GEMM and exposed communication.
SEQUENTIAL, FASTER, FASTEST = (1.0e6, 0.8e6), (1.05e6, 0.4e6), (1.0e6, 0.3e6)
TIMES = {"sequential": SEQUENTIAL, "t3": FASTER, "t3-mca": FASTEST}


def table_of(times=TIMES, points=(("T-NLG", 8),), settings=((150.0, 80),), layers=LAYERS):
    rows = []
    for (model, tp), (link, units), layer in itertools.product(points, settings, layers):
        work = workload_of(model, layer, tp)
        for name, (gemm, exposed) in times.items():
            rows.append(
                {"model": model, "layer": layer, "tp": tp, "m": work.m, "n": work.n, "k": work.k}
                | {"dtype": "fp16", "system": "asplos24", LINK: link, CUS: units}
                | {"engine": "golden", "configuration": name, "gemm_ns": gemm}
                | {"exposed_communication_ns": exposed, "total_ns": gemm + exposed}
            )
    return pd.DataFrame(rows)


def result(**arguments):
    return end_to_end(table_of(**arguments), SYSTEM).set_index(["phase", "configuration"])


def test_rows_and_columns():
    points, settings = (("T-NLG", 8), ("GPT-3", 32)), ((150.0, 80), (75.0, 80), (150.0, 160))
    found = end_to_end(table_of(points=points, settings=settings), SYSTEM)
    assert len(found) == 2 * 3 * len(PHASES) * len(TIMES)
    keys = ["model", "tp", LINK, CUS, "phase", "configuration"]
    assert not found.duplicated(keys).any()
    assert list(found.columns[:5]) == ["model", "tp", LINK, CUS, "variant"]
    assert set(zip(found[LINK], found[CUS], strict=True)) == set(settings)


def test_layers_whose_operators_are_not_counted_are_refused():
    with pytest.raises(InputError, match="model: DeepSeek-V3 has layers whose operators"):
        end_to_end(table_of(points=[("DeepSeek-V3", 8)], layers=("op", "fc1", "fc2")), SYSTEM)


COUNTED = [model for model in known_models() if model.sublayers is None]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", COUNTED, ids=lambda model: model.name)
def test_parts_sum_to_the_layer_and_layers_to_the_model(model, variant):
    found = end_to_end(
        table_of(points=[(model.name, model.tensor_parallel[0])]), SYSTEM, variant=variant
    )
    parts = [name for name in found if name.startswith("layer_") and name != "layer_ns"]
    assert found[parts].sum(axis=1).to_numpy() == pytest.approx(found["layer_ns"].to_numpy())
    assert (found[parts] >= 0).all(axis=None)
    assert found["model_ms"].to_numpy() == pytest.approx(
        (found["layer_ns"] * model.layers / 1e6).to_numpy()
    )


def test_each_expert_has_its_sublayers():
    """Mixtral's eight experts each have an FC-2, and backward an FC-1."""
    found = result(points=(("Mixtral-8x22B", 8),))
    gemm, exposed = FASTER
    for phase, count in (("training", 2 + 2 * 8), ("prompt", 1 + 8)):
        row = found.loc[(phase, "t3")]
        assert row["layer_all_reduced_gemm_ns"] == pytest.approx(count * gemm)
        assert row["layer_communication_ns"] == pytest.approx(count * exposed)


def test_a_model_that_does_not_come_along():
    own = COUNTED[0].model_copy(update={"name": "own"})
    rows = table_of(points=((COUNTED[0].name, COUNTED[0].tensor_parallel[0]),))
    rows["model"] = "own"
    with pytest.raises(InputError, match="model 'own' is not known"):
        end_to_end(rows, SYSTEM)
    assert set(end_to_end(rows, SYSTEM, own=[own])["model"]) == {"own"}


def test_the_sublayers_of_each_phase():
    found = result()
    gemm, exposed = FASTER
    for phase, count in (("training", 4), ("prompt", 2)):
        row = found.loc[(phase, "t3")]
        assert row["layer_all_reduced_gemm_ns"] == count * gemm
        assert row["layer_communication_ns"] == count * exposed
        assert row["communication_share"] == pytest.approx(count * exposed / row["layer_ns"])
    assert (found.loc["prompt", "layer_optimizer_ns"] == 0).all()
    assert (found.loc["training", "layer_optimizer_ns"] > 0).all()


def test_amdahl_s_law():
    found = result()
    for phase in PHASES:
        part = found.loc[(phase, "sequential"), "sliced_gemm_rs_ag_share"]
        for name in TIMES:
            faster = sum(SEQUENTIAL) / sum(TIMES[name])
            assert found.loc[(phase, name), "speedup"] == pytest.approx(
                1 / (1 - part + part / faster)
            )
        assert found.loc[(phase, "sequential"), "speedup"] == 1
        assert found.loc[(phase, "t3-mca"), "speedup"] > found.loc[(phase, "t3"), "speedup"] > 1


def test_without_communication_there_is_nothing_to_gain():
    found = result(times={"sequential": (1e6, 0.0), "t3": (1e6, 0.0)})
    assert (found["speedup"] == 1).all()
    assert (found["communication_share"] == 0).all()


def test_a_gain_is_bounded_by_the_communication():
    hidden = result(times={"sequential": SEQUENTIAL, "t3": (SEQUENTIAL[0], 0.0)})
    for phase in PHASES:
        share = hidden.loc[(phase, "sequential"), "communication_share"]
        assert hidden.loc[(phase, "t3"), "speedup"] == pytest.approx(1 / (1 - share))


def test_twice_the_compute_units_halve_large_gemms_only():
    found = end_to_end(table_of(settings=((150.0, 80), (75.0, 80), (150.0, 160))), SYSTEM)
    rows = (
        found[found["configuration"] == "sequential"].set_index([LINK, CUS, "phase"]).sort_index()
    )
    base, slow_link, doubled = (rows.loc[at] for at in ((150.0, 80), (75.0, 80), (150.0, 160)))
    assert doubled["layer_gemm_ns"].to_numpy() == pytest.approx(
        base["layer_gemm_ns"].to_numpy() / 2
    )
    for name in ("layer_attention_ns", "layer_normalisation_ns", "layer_optimizer_ns"):
        assert (doubled[name] == base[name]).all()
    assert (slow_link["layer_ns"] == base["layer_ns"]).all()


def test_unsliced_attention_damps_the_gain():
    sliced = result()
    unsliced = end_to_end(table_of(), SYSTEM, variant="attention unsliced").set_index(
        ["phase", "configuration"]
    )
    assert (unsliced["layer_attention_ns"].to_numpy()) == pytest.approx(
        8 * sliced["layer_attention_ns"].to_numpy()
    )
    assert (unsliced["layer_gemm_ns"] == sliced["layer_gemm_ns"]).all()
    faster = sliced.index.get_level_values("configuration") != "sequential"
    assert (unsliced["speedup"][faster] < sliced["speedup"][faster]).all()
    assert (unsliced["speedup"][faster] > 1).all()


def test_a_key_without_a_value_stays_and_a_list_is_json():
    plain = table_of()
    ours = plain.assign(**{CUS: float("nan"), "t3.mca_levels": "[20, 10, 5]"})
    found, expected = end_to_end(ours, SYSTEM), end_to_end(plain, SYSTEM)
    assert (found["layer_ns"] == expected["layer_ns"]).all()


def without(layer):
    table = table_of()
    return table[table["layer"] != layer]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (table_of().drop(columns="gemm_ns"), "column 'gemm_ns' is missing"),
        (without("ip"), "lacks layer ip"),
        (pd.concat([table_of(), table_of()]), "has twice layer op"),
        (table_of().assign(k=64), "op is 8192 x 4256 x 64; the model's is 8192 x 4256 x 532"),
        (table_of(times={"t3": FASTER}), "lacks configuration sequential"),
        (table_of().assign(model="GPT-5"), "model 'GPT-5' is not known"),
        (table_of().assign(**{"gpu.cores": 1}), "column 'gpu.cores' is not a key of a system"),
        (table_of().assign(**{"t3.mca_levels": "[5"}), "t3.mca_levels: '[5' is not allowed"),
        (table_of().iloc[:0], "no rows"),
        (table_of().assign(**{CUS: 80.5}), "gpu.compute_units: 80.5 is not allowed"),
    ],
)
def test_tables_that_cannot_be_used(table, message):
    with pytest.raises(InputError, match="^table") as caught:
        end_to_end(table, SYSTEM)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_variants_are_named():
    with pytest.raises(InputError, match="variant: 'ring' is not allowed; allowed: megatron"):
        end_to_end(table_of(), SYSTEM, variant="ring")
