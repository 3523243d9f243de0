"""Names of bundled files, and paths of other files: one rule for systems and models."""

from pathlib import Path

import pytest

from sysmodel.config.bundled import MODELS, PRESETS, is_path
from sysmodel.config.complete import complete_toml
from sysmodel.config.model import load_model
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError

_SLOW = 'base = "asplos24"\n[link]\nbandwidth_gb_per_s = 1\n'


@pytest.mark.parametrize(
    ("source", "expected"),
    [("h200", False), ("a.b", False), ("a.toml", True), ("./h200", True), (Path("h200"), True)],
)
def test_a_path_has_a_suffix_or_a_slash(source, expected):
    assert is_path(source) is expected


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.write_text(_SLOW)])
def test_a_name_is_bundled_whatever_the_working_folder_holds(tmp_path, monkeypatch, make):
    preset, shown = load_system("h200"), complete_toml("h200")
    model = load_model("t-nlg")
    for name in ("h200", "asplos24", "t-nlg"):
        make(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert load_system("h200") == preset
    assert load_system({"base": "h200"}).link == preset.link
    assert complete_toml("h200") == shown
    assert load_model("t-nlg") == model


def test_a_file_without_a_suffix_has_a_path(tmp_path, monkeypatch):
    (tmp_path / "h200").write_text(_SLOW)
    monkeypatch.chdir(tmp_path)
    assert load_system("./h200").link.bandwidth_gb_per_s == 1
    assert load_system(Path("h200")).link.bandwidth_gb_per_s == 1


@pytest.mark.parametrize("name", ["H200", "h_200", "h-200"])
def test_names_are_known_in_any_case(name):
    assert load_system(name) == load_system("h200")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("h900", "'h900' is not known; allowed: a100, "),
        ("", "'' is not known; allowed: a100, "),
        ("a/h200", "'a/h200': no such file"),
        (3, "3 is not allowed; allowed: a100, "),
        (None, "None is not allowed; allowed: a100, "),
    ],
)
def test_sources_that_are_not_there(source, problem):
    with pytest.raises(InputError) as caught:
        PRESETS.locate(source, "system")
    assert caught.value.field == "system"
    assert caught.value.problem.startswith(problem)


def test_the_message_of_a_model_lists_the_models():
    with pytest.raises(InputError, match="model: 'gpt' is not known; allowed: .*t-nlg, or a path"):
        MODELS.locate("gpt", "model")
