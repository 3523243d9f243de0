"""Calls of the functions of the library with random arguments."""

from random import Random
from typing import Any

import numpy as np

from .case import Call, Case, Maker
from .commands import grid_file, model_file, result_file, trace_file
from .systems import mapping, system_file
from .values import odd_object, sizes

__all__ = ["CALLS"]


def _system(random: Random, case: Case) -> Any:
    case.blamed |= {"system", "source"}
    kinds = (mapping, mapping, system_file, lambda *_: "asplos24")
    return case.pick(random, *kinds, wrong=[lambda *_: odd_object(random)])(random, case)


def _drawn(random: Random, case: Case, words: dict[str, Any]) -> dict[str, Any]:
    """Replace some values by odd ones, and some integers by those of NumPy."""
    drawn = {}
    for name, value in words.items():
        if random.random() < case.faults / 2:
            value = odd_object(random)
            case.blamed.add(name)
        elif type(value) is int and random.random() < 0.3:
            value = np.int64(value)
        drawn[name] = value
    return drawn


def _some(random: Random, words: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in words.items() if random.random() < 0.3}


def _run_options(random: Random, case: Case) -> dict[str, Any]:
    words = {
        "channels": case.pick(random, "auto", "all", 1, 2, 3, wrong=[0]),
        "gpus": case.pick(random, "mirror", "all", wrong=["x"]),
        "configurations": case.pick(
            random, "t3", ["sequential", "t3"], wrong=[(), ("t3", "t3"), [3], {"t3"}]
        ),
        "repeat": case.pick(random, 1, 2, wrong=[0]),
        "seed": case.pick(random, 0, wrong=[-1, 2**32]),
        "waves": case.pick(random, None, wrong=[(1, 2), [2, 1], "1:2"]),
        "dtype": case.pick(random, "fp16", "bf16", wrong=["fp8"]),
    }
    chosen = _some(random, words)
    case.blamed.update(chosen)
    return chosen | {"engine": "golden", "system": _system(random, case)}


def _gemm(random: Random, case: Case) -> None:
    words = (
        sizes(random, case)
        | {"tp": case.pick(random, 2, 2, 4, wrong=[3, 1])}
        | _run_options(random, case)
    )
    case.blamed |= {"m", "n", "k", "tp", " x "}
    case.what = Call("gemm", (), _drawn(random, case, words))


def _run(random: Random, case: Case) -> None:
    model = case.pick(random, model_file(random, case), wrong=["t-nlg", odd_object(random)])
    words = {
        "model": model,
        "layer": case.pick(random, "op", "fc2", "first", wrong=["x"]),
        "tp": case.pick(random, 2, 4, wrong=[3]),
        **_some(random, {"tokens": case.pick(random, 256, wrong=[0, 1.5])}),
        **_run_options(random, case),
    }
    case.blamed |= {*words, "head_dim", " x "}
    case.what = Call("run", (), _drawn(random, case, words))


def _check(random: Random, case: Case) -> None:
    words = {
        "gpus": case.pick(random, 2, 3, 4, wrong=[9]),
        **sizes(random, case),
        "contexts": case.pick(random, 1, 2, wrong=[0]),
        "channels": case.pick(random, 1, 2, wrong=[3]),
        "back_pressure": case.pick(random, 0, 50, wrong=[96]),
        "skew": case.pick(random, 0, 10, wrong=[-1]),
    }
    case.blamed |= {*words, " x "}
    case.what = Call("check", (), _drawn(random, case, _some(random, words) | {"engine": "golden"}))


def _dram(random: Random, case: Case) -> None:
    words = {
        "trace": case.pick(random, None, wrong=[trace_file(random, case)]),
        "system": _system(random, case),
        "stride": case.pick(random, 1, 2**30, wrong=[0]),
        "offset": case.pick(random, 0, 2**40, wrong=[33]),
        "queue": case.pick(random, 1, 64, "64+64", wrong=[0, True, "x"]),
        "offered": case.pick(random, 1, 64, wrong=[0]),
    }
    words = _some(random, words) | {
        "requests": 1000,
        "pattern": case.pick(random, "read", "mix", wrong=[None]),
    }
    case.blamed |= {*words, "pattern"}
    case.what = Call("dram", (), _drawn(random, case, words))


def _compare(random: Random, case: Case) -> None:
    one = result_file(random, case, "one.json")
    other = case.pick(
        random, one, result_file(random, case, "other.json"), wrong=[{}, odd_object(random)]
    )
    case.blamed |= {"one", "other"}
    case.what = Call("compare", (one, other), {})


def _given_system(random: Random, case: Case) -> None:
    case.what = Call("system", (_system(random, case),), {})


def _sweep(random: Random, case: Case) -> None:
    block = {
        "workload": _drawn(random, case, {"m": [256, 512], "n": 256, "k": 64, "tp": 2}),
        "system": mapping(random, case),
        "run": _drawn(random, case, {"engine": "golden", "configurations": ["t3"]}),
    }
    grid = case.pick(random, block, grid_file(random, case), wrong=[odd_object(random)])
    case.blamed |= {"grid", "sweep", str(grid)}
    words = _drawn(random, case, {"workers": 1})
    case.what = Call("sweep", (grid,), words)


def _model(random: Random, case: Case) -> None:
    model = case.pick(random, model_file(random, case), wrong=[odd_object(random)])
    words = {
        "tp": case.pick(random, 2, 4, wrong=[3]),
        "system": _system(random, case),
        "workers": 1,
    }
    case.blamed |= {*words, "model", "head_dim"}
    case.what = Call("model", (model,), _drawn(random, case, words))


def _validate(random: Random, case: Case) -> None:
    case.files["file"] = b""
    case.blamed.add("out")
    case.what = Call("validate", (random.choice(["file", "/proc/x", "", 3, b"x", "a\0b"]),), {})


CALLS: tuple[Maker, ...] = (
    *(_gemm, _gemm, _run, _check, _dram, _compare, _given_system, _given_system, _sweep, _model),
    _validate,
)
