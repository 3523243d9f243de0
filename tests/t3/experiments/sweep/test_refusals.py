"""Refused grids: one line that names file, key and value."""

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.sweep.grid import load_grid

_BLOCK = 'title = "x"\n[[grid]]\n'
_GEMM = _BLOCK + "workload = {m = 1024, n = 768, k = 64, tp = 4}\n"
_REFUSED = [
    ("", "title", "missing; allowed: a string"),
    ("title = 3\n[[grid]]", "title", "3 is not allowed"),
    ('title = "x"', "grid", "missing; allowed: one or more [[grid]] blocks"),
    ('title = "x"\ngrid = []', "grid", "[] is not allowed; allowed: one or more"),
    ('title = "x"\n[grid]', "grid", "{} is not allowed; allowed: one or more"),
    ("color = 1\n" + _GEMM, "color", "unknown key; allowed: title, grid"),
    (_GEMM + "sistem = 1", "grid.0.sistem", "unknown key; did you mean system?"),
    (_BLOCK, "grid.0.workload", "missing"),
    (
        _BLOCK + "workload = {}",
        "grid.0.workload.model",
        "missing; allowed: a model, or m, n, k and tp",
    ),
    (
        _BLOCK + 'workload = {modl = "t-nlg"}',
        "grid.0.workload.modl",
        "unknown key; did you mean model?",
    ),
    (
        _BLOCK + 'workload = {model = "t-nlgx"}',
        "grid.0.workload.model",
        "'t-nlgx' is not known; allowed: 10t, 1t",
    ),
    (
        _BLOCK + "workload = {model = []}",
        "grid.0.workload.model",
        "[] is not allowed; allowed: a model's name",
    ),
    (_GEMM + "system = {link = {latency_ns = {}}}", "grid.0.system.link.latency_ns", "{}"),
    (_GEMM + "system = {link = {}}", "grid.0.system.link", "unknown key"),
    (_BLOCK + "workload = {model = 3}", "grid.0.workload.model.0", "3 is not allowed"),
    (
        _BLOCK + 'workload = {model = "t-nlg", layer = "fc3"}',
        "grid.0.workload.layer",
        "'fc3' is not known",
    ),
    (
        _BLOCK + 'workload = {model = "t-nlg", tp = [8, "x"]}',
        "grid.0.workload.tp.1",
        "'x' is not allowed; allowed: an integer from 2 to 72",
    ),
    (
        _BLOCK + 'workload = {model = "t-nlg", tp = 9}',
        "grid.0.workload.tp",
        "9 does not divide the 4256 products of T-NLG's op",
    ),
    (
        _BLOCK + 'workload = {model = "t-nlg", m = 5}',
        "grid.0.workload.model",
        "not allowed together with m",
    ),
    (
        _BLOCK + "workload = {m = 5}",
        "grid.0.workload.n",
        "missing; m, n, k and tp must be given together",
    ),
    (
        _BLOCK + "workload = {m = 1, n = 1, k = 1, tp = 4}",
        "grid.0",
        "custom gemm, TP 4 (1 x 1 x 1) on asplos24",
    ),
    (
        _BLOCK
        + "workload = {m = 8192, n = 128, k = 64, tp = 4}\nsystem.t3.command_depth = [512, 8]",
        "grid.0",
        (
            "custom gemm, TP 4 (8192 x 128 x 64) on asplos24, t3.command_depth = 8, rtl, channels "
            "auto, gpus mirror: t3.command_depth: 8 commands hold 8 workgroups; allowed: at least"
        ),
    ),
    (_GEMM + "system = 3", "grid.0.system", "3 is not allowed"),
    (
        _GEMM + 'system.base = "nope"',
        "grid.0.system.base",
        "'nope' is not known; allowed: a100",
    ),
    (_GEMM + "system.base = 3", "grid.0.system.base", "3 is not allowed"),
    (_GEMM + "system.name = 'x'", "grid.0.system.name", "unknown key"),
    (
        _GEMM + "system.link.bandwith_gb_per_s = 5",
        "grid.0.system.link.bandwith_gb_per_s",
        "unknown key; did you mean link.bandwidth_gb_per_s",
    ),
    (_GEMM + "system.link.latency_ns = []", "grid.0.system.link.latency_ns", "[] is not allowed"),
    (
        _GEMM + "system.link.latency_ns = [5, -1]",
        "grid.0.system.link.latency_ns",
        "-1 is not allowed; allowed: a number from 0",
    ),
    (
        _GEMM + "system.link.latency_ns = [[5]]",
        "grid.0.system.link.latency_ns",
        "[5] is not allowed",
    ),
    (
        _GEMM + "system.gpu.compute_units = '80'",
        "grid.0.system.gpu.compute_units",
        "'80' is not allowed; allowed: an integer",
    ),
    (
        _GEMM + "system.t3.mca_levels = [[1, 2, 3], [1, 2]]",
        "grid.0.system.t3.mca_levels",
        "too short; allowed: a list of 3",
    ),
    (
        _GEMM + "system.t3.mca_levels = 7",
        "grid.0.system.t3.mca_levels",
        "7 is not allowed; allowed: a list of 3",
    ),
    (
        _GEMM + "system.dram.channels = 128",
        "grid.0.system",
        "with dram.channels = 128: l2.slices: 64 is not allowed",
    ),
    (
        _GEMM + 'system = {"link.latency_ns" = 1, link.latency_ns = 2}',
        "grid.0.system.link.latency_ns",
        "given twice",
    ),
    (
        _GEMM + 'run.engine = ["rtl", "foo"]',
        "grid.0.run.engine.1",
        "'foo' is not allowed; allowed: one or more of rtl, golden",
    ),
    (
        _GEMM + "run.channels = 0",
        "grid.0.run.channels.0",
        "0 is not allowed; allowed: 1 or more, auto, or all",
    ),
    (_GEMM + "run.channels = true", "grid.0.run.channels.0", "True is not allowed"),
    (
        _GEMM + "run.channels = [1, 64]",
        "grid.0.run.channels",
        "64 is not allowed; allowed: 1 to 32",
    ),
    (_GEMM + "run.configurations = []", "grid.0.run.configurations", "[] is not allowed"),
    (
        _GEMM + 'run.configurations = ["t3", "t3"]',
        "grid.0.run.configurations",
        "each may be named once",
    ),
    (
        _GEMM + "run.gpus = 3",
        "grid.0.run.gpus.0",
        "3 is not allowed; allowed: one or more of mirror, all",
    ),
    (_GEMM + "run.seed = [1, 2]", "grid.0.run.seed", "[1, 2] is not allowed; allowed: an integer"),
]


@pytest.mark.parametrize(("text", "key", "problem"), _REFUSED)
def test_refusals_name_file_key_and_value(tmp_path, text, key, problem):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_grid(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {key}: {problem}")
    assert "\n" not in message
