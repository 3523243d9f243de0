"""``t3 model``: a whole model by operator."""

import pandas as pd
import pytest

from sysmodel.config.model import load_model
from t3.cli.main import main
from t3.experiments.transformer import whole

TIMES = {"sequential": (1.0e6, 0.8e6), "t3-critical": (1.05e6, 0.3e6)}


@pytest.fixture
def swept(monkeypatch):
    """Give the sublayers made-up times; lists the requested grids."""
    grids = []

    def sweep(grid, out, **_):
        grids.append(grid)
        out.mkdir(parents=True, exist_ok=True)
        rows = []
        for point in grid.points:
            work = point.workload
            sizes = {"model": work.model, "layer": work.layer, "tp": work.tp}
            sizes |= {"m": work.m, "n": work.n, "k": work.k}
            rows += [
                sizes
                | {"configuration": name, "gemm_ns": gemm, "exposed_communication_ns": exposed}
                for name, (gemm, exposed) in TIMES.items()
            ]
        return pd.DataFrame(rows)

    monkeypatch.setattr(whole, "sweep", sweep)
    return grids


def test_a_modern_model_on_a_modern_gpu(swept, capsys, tmp_path):
    out = tmp_path / "out"
    assert main(["model", "llama-3-70b", "--system", "h200", "--out", str(out)]) == 0
    (grid,) = swept
    assert {p.workload.layer for p in grid.points} == {"op", "fc1", "fc2", "ip"}
    assert {p.system.name for p in grid.points} == {"h200"}
    shown = capsys.readouterr().out
    table = pd.read_csv(out / "model.csv").set_index(["phase", "configuration"])
    row = table.loc[("training", "t3-critical")]
    # Four sublayers of a layer, 80 layers.
    assert row["layer_all_reduced_gemm_ns"] == 4 * 1.05e6
    assert row["model_ms"] == pytest.approx(80 * row["layer_ns"] / 1e6)
    assert f"{row['speedup']:.3f}x" in shown
    assert "Llama-3-70B, TP 8, on h200: training, a layer in µs" in shown
    assert "optimizer" in shown.split("prompt, a layer")[0]
    assert "optimizer" not in shown.split("prompt, a layer")[1]


def test_a_model_of_one_s_own(swept, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        "hidden = 1024\nlayers = 2\nheads = 8\nsequence = 1024\nbatch = 8\n"
        'tensor_parallel = [4]\nsource = "-"\nconfidence = "-"\n'
    )
    assert main(["model", str(file), "--tp", "4", "--out", str(tmp_path / "out")]) == 0
    assert set(pd.read_csv(tmp_path / "out" / "model.csv")["model"]) == {"mine"}
    assert load_model(str(file)).name == "mine"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["gpt-9"], "model: 'gpt-9' is not known"),
        (["deepseek-v3"], "model: DeepSeek-V3 has layers whose operators are not counted"),
        (["t-nlg", "--tp", "5"], "--tp: 5 does not divide"),
        (["t-nlg", "--system", "h900"], "--system: 'h900' is not known; allowed: a100, "),
        (["examples/models/my-gemms.toml"], "model: my-gemms is a list of GEMMs"),
    ],
)
def test_bad_input(swept, fails, tmp_path, arguments, problem):
    assert fails(["model", *arguments, "--out", str(tmp_path / "out")]).startswith(problem)
    assert not (tmp_path / "out").exists()


def test_the_name_of_a_model_is_no_markup(swept, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine [/x]"\nhidden = 1024\nlayers = 2\nheads = 8\nsequence = 1024\nbatch = 8\n'
        'tensor_parallel = [4]\nsource = "-"\nconfidence = "-"\n'
    )
    assert main(["model", str(file), "--tp", "4", "--out", str(tmp_path / "out")]) == 0
    assert "mine [/x], TP 4" in capsys.readouterr().out
