"""Grids: their points, in order, and the messages about grids that are refused."""

import itertools

import pytest

from sysmodel.config.bundled import PRESETS
from sysmodel.config.model import SUBLAYERS, workload_of
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.runs.options import DEFAULT_CONFIGURATIONS, RunOptions
from t3.experiments.sweep.grid import MOST_POINTS, load_grid

_GEMM = 'title = "x"\n[[grid]]\nworkload = {m = 1024, n = 768, k = 64, tp = 4}\n'


@pytest.fixture
def load(tmp_path):
    def load_text(text, **more):
        (tmp_path / "grid.toml").write_text(text)
        return load_grid(tmp_path / "grid.toml", **more)

    return load_text


def test_order_is_that_of_nested_loops(load):
    grid = load("""
        title = "all axes"
        [[grid]]
        workload = {model = ["T-NLG", "mega-gpt-2"], layer = ["fc2", "op"], tp = [16, 8]}
        system = {link.bandwidth_gb_per_s = [150, 75], gpu.compute_units = [80, 160]}
        run = {engine = ["golden", "rtl"], channels = [2, 1], gpus = ["mirror", "all"], seed = 3}
    """)
    found = [
        (
            *(p.workload.model, p.workload.tp, p.workload.layer),
            *(p.system.link.bandwidth_gb_per_s, p.system.gpu.compute_units),
            *(p.options.engine, p.options.channels, p.options.gpus),
        )
        for p in grid.points
    ]
    assert found == list(
        itertools.product(
            *(["T-NLG", "Mega-GPT-2"], [16, 8], ["fc2", "op"], [150.0, 75.0], [80, 160]),
            *(["golden", "rtl"], [2, 1], ["mirror", "all"]),
        )
    )
    assert grid.system_keys == ("link.bandwidth_gb_per_s", "gpu.compute_units")
    assert {p.options.seed for p in grid.points} == {3}
    assert grid.duplicates == 0


def test_defaults_of_axes(load):
    grid = load('title = "x"\n[[grid]]\nworkload = {model = ["t-nlg", "gpt-3"]}')
    assert [p.workload for p in grid.points] == [
        workload_of(model, layer, tp)
        for model, tps in (("t-nlg", (8, 16)), ("gpt-3", (32,)))
        for tp in tps
        for layer in SUBLAYERS
    ]
    assert {p.system for p in grid.points} == {load_system()}
    assert {p.options for p in grid.points} == {RunOptions()}
    assert grid.blocks[0]["workload"]["tp_of_model"] == {"T-NLG": [8, 16], "GPT-3": [32]}


def test_explicit_sizes(load):
    grid = load(
        'title = "x"\n[[grid]]\nworkload = {m = [1024, 2048], n = 768, k = [64], tp = [2, 4]}'
    )
    found = [(p.workload.m, p.workload.n, p.workload.k, p.workload.tp) for p in grid.points]
    assert found == [(1024, 768, 64, 2), (1024, 768, 64, 4), (2048, 768, 64, 2), (2048, 768, 64, 4)]
    assert {(p.workload.model, p.workload.layer) for p in grid.points} == {("custom", "gemm")}


@pytest.mark.parametrize(
    "system",
    [
        'system = {"link.bandwidth_gb_per_s" = [75, 150], "link.latency_ns" = 300}',
        "system.link = {bandwidth_gb_per_s = [75, 150], latency_ns = 300}",
        "system.link.bandwidth_gb_per_s = [75, 150]\nsystem.link.latency_ns = [300]",
    ],
)
def test_spellings_of_dotted_keys(load, system):
    points = load(_GEMM + system).points
    assert [p.system.link.bandwidth_gb_per_s for p in points] == [75, 150]
    assert {p.system.link.latency_ns for p in points} == {300}


def test_a_list_is_a_value_of_a_key_that_takes_one(load):
    points = load(_GEMM + "system.t3.mca_levels = [[30, 10, 5], [60, 30, 15]]").points
    assert [p.system.t3.mca_levels for p in points] == [(30, 10, 5), (60, 30, 15)]
    (point,) = load(_GEMM + "system.t3.mca_levels = [60, 30, 15]").points
    assert point.system.t3.mca_levels == (60, 30, 15)
    assert point.coordinates(("t3.mca_levels",))["t3.mca_levels"] == "[60, 30, 15]"


def test_base_is_a_preset_or_a_file_beside_the_grid(load, tmp_path):
    (tmp_path / "slow.toml").write_text('base = "asplos24"\n[link]\nbandwidth_gb_per_s = 10\n')
    points = load(_GEMM + 'system.base = ["asplos24", "slow.toml"]').points
    assert [p.system.name for p in points] == ["asplos24", "slow"]
    assert [p.system.link.bandwidth_gb_per_s for p in points] == [150, 10]


def test_engine_instead_of_the_files(load):
    points = load(_GEMM + 'run.engine = ["rtl", "golden"]', engine="golden").points
    assert [p.options.engine for p in points] == ["golden"]


def test_points_given_twice_are_one(load):
    block = "[[grid]]\nworkload = {m = 1024, n = 768, k = 64, tp = 4}\n"
    grid = load(
        f'title = "x"\n{block}run.configurations = ["t3"]\nrun.channels = 1\n'
        f'{block}run.configurations = ["sequential", "t3"]\nrun.channels = [1, 2]\n'
    )
    assert [p.options.channels for p in grid.points] == [1, 2]
    assert grid.points[0].options.configurations == ("sequential", "t3")
    assert grid.duplicates == 1


def test_columns_of_a_key_that_only_one_block_sets(load):
    block = "[[grid]]\nworkload = {m = 1024, n = 768, k = 64, tp = 4}\n"
    grid = load(f'title = "x"\n{block}{block}system.gpu.compute_units = 160\n')
    found = [p.coordinates(grid.system_keys)["gpu.compute_units"] for p in grid.points]
    assert found == [80, 160]


def test_identity_is_that_of_the_simulation(load, tmp_path):
    def identity(text):
        (point,) = load(text).points
        return point.identity

    named = 'title = "x"\n[[grid]]\nworkload = {model = "t-nlg", tp = 8, layer = '
    fc1, fc2, op = (identity(f'{named}"{layer}"}}') for layer in ("fc1", "fc2", "op"))
    assert fc1 != op
    # FC-1's all-reduce is in the backward pass; its GEMM is that of FC-2.
    assert fc1 == fc2
    one = identity(_GEMM)
    (tmp_path / "copy.toml").write_text(PRESETS.path("asplos24", "base").read_text())
    assert identity(_GEMM + 'system.base = "copy.toml"') == one
    assert identity(_GEMM + 'run.configurations = ["t3"]') == one
    assert identity(_GEMM + 'run.channels = "all"') == identity(_GEMM + "run.channels = 32") != one
    for change in (
        'run.engine = "golden"',
        'run.gpus = "all"',
        "run.seed = 1",
        "system.link.latency_ns = 501",
    ):
        assert identity(_GEMM + change) != one


def test_expected_work_grows_with_everything(load):
    def work(change=""):
        (point,) = load(_GEMM + change).points
        return point.expected_cycles

    one = work()
    assert work("run.channels = 4") == 4 * one
    assert work('run.gpus = "all"') == 4 * one
    assert work('run.configurations = ["t3"]') * len(DEFAULT_CONFIGURATIONS) == one
    assert work("system.link.bandwidth_gb_per_s = 15") > 5 * one


def test_a_wrong_base_file_is_named(load, tmp_path):
    (tmp_path / "bad.toml").write_text('base = "asplos24"\n[link]\nlatency_ns = "x"\n')
    with pytest.raises(InputError, match="bad.toml: link.latency_ns: 'x' is not allowed"):
        load(_GEMM + 'system.base = "bad.toml"')


def test_two_systems_of_one_name(load, tmp_path):
    for folder, rate in (("a", 10), ("b", 20)):
        (tmp_path / folder).mkdir()
        text = f'base = "asplos24"\n[link]\nbandwidth_gb_per_s = {rate}\n'
        (tmp_path / folder / "slow.toml").write_text(text)
    with pytest.raises(InputError, match="grid.0: .* on slow is given .* or topologies of one"):
        load(_GEMM + 'system.base = ["a/slow.toml", "b/slow.toml"]')


def test_too_many_points_are_counted_and_not_made(load):
    sizes = ", ".join(str(16 * i) for i in range(1, 1001))
    text = (
        f'title = "x"\n[[grid]]\nworkload = {{m = [{sizes}], n = [{sizes}], k = [{sizes}], tp = 2}}'
    )
    with pytest.raises(
        InputError, match=f"grid: makes {10**9} points; allowed: up to {MOST_POINTS}"
    ):
        load(text)


def test_unknown_engine(load):
    with pytest.raises(InputError, match="engine: 'foo' is not allowed"):
        load(_GEMM, engine="foo")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="none.toml: cannot be read"):
        load_grid(tmp_path / "none.toml")


def test_an_optional_section_that_the_base_leaves_out(load):
    points = load(_GEMM + "system.dram.timing.tFAW.ns = [16, 30]").points
    assert [p.system.dram.timing_cycles.tFAW for p in points] == [16, 30]


def test_a_memory_standard_is_no_axis(load):
    with pytest.raises(InputError, match=r"dram\.standard: unknown key"):
        load(_GEMM + 'system.dram.standard = "hbm3"')


def test_tokens_are_an_axis_and_layers_are_the_models_own(load):
    grid = load(
        'title = "x"\n[[grid]]\n'
        'workload = {model = ["deepseek-v3", "mixtral-8x22b"], tp = 8, tokens = [2048, 4096]}'
    )
    found = [(p.workload.model, p.workload.layer, p.workload.m) for p in grid.points]
    assert found[:2] == [("DeepSeek-V3", "op", 2048), ("DeepSeek-V3", "op", 4096)]
    assert ("Mixtral-8x22B", "fc2", 512) in found
    assert not [one for one in found if one[:2] == ("DeepSeek-V3", "ip")]
    assert len(found) == 2 * (3 + 4)


def test_tokens_are_of_models(load):
    with pytest.raises(InputError, match=r"workload\.tokens: not allowed together with m"):
        load(_GEMM.replace("tp = 4}", "tp = 4, tokens = 8}"))


def test_topologies_of_one_name_are_refused(load, tmp_path):
    for folder, rate in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        text = f'base = "switch"\nlink.bandwidth_gb_per_s = {rate}\n'
        (tmp_path / folder / "net.toml").write_text(text)
    one = 'system.topology = ["a/net.toml"]'
    assert len(load(_GEMM + one).points) == 1
    with pytest.raises(InputError, match="or on two systems or topologies of one name, "):
        load(_GEMM + one.replace('"]', '", "b/net.toml"]'))
