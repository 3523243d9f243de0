"""Files of models: Transformers by their hyperparameters, and lists of GEMMs."""

import pytest

from sysmodel.config.bundled import MODELS
from sysmodel.config.model import (
    GemmList,
    Transformer,
    known_models,
    load_model,
)
from sysmodel.lib.errors import InputError

HYPERPARAMETERS = (
    "hidden = 64\nlayers = 1\nheads = 4\nsequence = 8\nbatch = 1\n"
    'tensor_parallel = [2]\nsource = "-"\nconfidence = "-"\n'
)
GEMMS = """
tensor_parallel = [4]
source = "-"
confidence = "-"

[[gemm]]
name = "down"
m = 512
n = 256
k = 128

[[gemm]]
name = "up-projection"
m = 512
n = 512
k = 64
then = "nothing"
"""


@pytest.fixture
def load(tmp_path):
    def write_and_load(text, name="mine.toml"):
        (tmp_path / name).write_text(text)
        return load_model(name, tmp_path)

    return write_and_load


def test_bundled_models_are_such_files():
    assert len(known_models()) == len(MODELS.names())
    for model in known_models():
        assert load_model(str(MODELS.path(model.name, "model"))) == model
        assert model.name.lower() == MODELS.path(model.name, "model").stem
        for layer in model.reduced:
            for tp in model.tensor_parallel:
                assert model.workload(layer, tp).tp == tp


def test_the_name_is_the_file_s_unless_the_file_gives_another(load):
    assert load(HYPERPARAMETERS).name == "mine"
    assert load(f'name = "Own"\n{HYPERPARAMETERS}').name == "Own"


def test_a_transformer_of_one_s_own(load):
    model = load(f"{HYPERPARAMETERS}ffn = 224\nkv_heads = 2\ngated = true\n")
    assert isinstance(model, Transformer)
    shapes = {layer: model.workload(layer, 2) for layer in model.reduced}
    assert {layer: work.k for layer, work in shapes.items()} == {
        "op": 4 * 16 // 2,
        "fc1": 2 * 224 // 2,
        "fc2": 224 // 2,
        "ip": (4 + 2 * 2) * 16 // 2,
    }
    assert {(work.model, work.m, work.n) for work in shapes.values()} == {("mine", 8, 64)}


def test_a_list_of_gemms(load):
    model = load(GEMMS)
    assert isinstance(model, GemmList)
    work = model.workload("Down", 4)
    assert (work.model, work.layer, work.tp) == ("mine", "down", 4)
    assert (work.m, work.n, work.k) == (512, 256, 128)
    assert model.reduced == {"down": "512 x 256 x 128"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("down", 8), "tp: 8 is not allowed; allowed: 4, the degrees of mine's GEMMs"),
        (("down", 4, 64), "tokens: not allowed: the GEMMs of mine have fixed sizes"),
        (("up-projection", 4), "layer: 'up-projection' is not known; allowed: down"),
    ],
)
def test_workloads_that_a_list_of_gemms_refuses(load, arguments, message):
    with pytest.raises(InputError, match=message):
        load(GEMMS).workload(*arguments)


@pytest.mark.parametrize(
    "change, message",
    [
        ("kv_heads = 3", r"mine.toml: kv_heads: 3 is not allowed; allowed: a divisor of heads, 4"),
        ("kv_heads = 8", r"kv_heads: 8 is not allowed; allowed: a divisor of heads, 4"),
        ("experts_per_token = 2", r"experts_per_token: 2 is not allowed; .* most 1"),
        ('sublayers = ["op", "qkv"]', r"sublayers\.1: 'qkv' is not allowed"),
        ("kv_head = 2", "kv_head: unknown key; did you mean kv_heads?"),
    ],
)
def test_transformers_that_contradict_themselves(load, change, message):
    with pytest.raises(InputError, match=message):
        load(f"{HYPERPARAMETERS}{change}\n")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("m = 512", "m = 0", r"gemm\.0\.m: 0 is not allowed; allowed: an integer from 1 to"),
        ("[4]", "[]", r"mine.toml: tensor_parallel: \[\] is not allowed; allowed: a list of"),
        ("up-projection", "Down", r"gemm\.1\.name: 'Down' occurs twice"),
        ("k = 128", 'k = 128\nthen = "nothing"', "gemm: no GEMM has then = .all-reduce."),
        ('"nothing"', '"gather"', r"gemm\.1\.then: 'gather' is not allowed; allowed: 'all-reduce'"),
        ('source = "-"', "", "mine.toml: source: missing"),
    ],
)
def test_lists_of_gemms_that_are_none(load, old, new, message):
    with pytest.raises(InputError, match=message):
        load(GEMMS.replace(old, new))


def test_width_of_a_head_is_given_where_it_does_not_follow(load):
    odd = HYPERPARAMETERS.replace("heads = 4", "heads = 5")
    with pytest.raises(InputError, match=r"mine.toml: head_dim: missing; it has no default"):
        load(odd)
    assert load(f"{odd}head_dim = 16\n").workload("op", 2).k == 40


def test_absurd_tokens(load):
    message = r"sequence: 1000000000000 is not allowed; allowed: an integer from 1 to 1048576"
    with pytest.raises(InputError, match=message):
        load(HYPERPARAMETERS.replace("sequence = 8", "sequence = 1000000000000"))


@pytest.mark.parametrize(
    "source, message",
    [
        ("nowhere.toml", "model: 'nowhere.toml': no such file"),
        ("gpt-9", "model: 'gpt-9' is not known; allowed: 10t, 1t"),
    ],
)
def test_files_and_names_that_are_not_there(source, message):
    with pytest.raises(InputError, match=message):
        load_model(source)
