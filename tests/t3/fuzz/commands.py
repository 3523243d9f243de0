"""Commands with random options and files."""

import json
from random import Random
from typing import Any

from sysmodel.config.workload import Workload
from sysmodel.runs.options import RunOptions
from t3.cli.run import PICTURE, REPORT, RESULT, ROOFLINE, TIMELINE
from t3.experiments.dram.options import PATTERNS
from t3.library.modelling import TABLE
from t3.library.sweeping import FILES
from tests.support.configurations import ON_A_RING
from tests.support.example_run import example_result

from .case import FOLDER, Case, Command, Maker
from .files import add_file
from .systems import changes, system_file
from .values import odd_text, sizes

__all__ = ["COMMANDS", "grid_file", "model_file", "result_file", "trace_file"]

_PRESETS = ("asplos24", "h200", "ASPLOS-24", "mi300x")
_GEMM_FILE = """
tensor_parallel = [2, 4]
source = "-"
confidence = "-"
[[gemm]]
name = "first"
m = 256
n = 256
k = 64
"""
_MODEL_FILE = """
hidden = 256
layers = 2
heads = 4
sequence = 256
batch = 1
tensor_parallel = [2, 4]
source = "-"
confidence = "-"
"""


def _set(random: Random, case: Case, words: list[str], options: dict[str, Any]) -> None:
    """Add options; some get an odd value, and some are given twice."""
    for name, value in options.items():
        if random.random() < case.faults / 2:
            value = odd_text(random)
            case.blamed |= {name, value}
        words += random.choice([[name, str(value)], [f"{name}={value}"]])
        if random.random() < case.faults / 2:
            words += [name, str(value)]


def _some(random: Random, options: dict[str, Any], share: float = 0.4) -> dict[str, Any]:
    return {name: value for name, value in options.items() if random.random() < share}


def _out(random: Random, case: Case, words: list[str], names: tuple[str, ...]) -> None:
    """Choose an output folder: a new one, a nested one, or one that cannot be written."""
    wrong = ["file", "file/x", "/dev/full", "/proc/x"]
    out = case.pick(random, "out", "out", "a/b/c", "there", wrong=wrong)
    if out.startswith(("file", "/")):
        case.blamed |= {"--out", out}
        case.files["file"] = b""
    if out == "there":
        case.files["there"] = FOLDER
        if random.random() < 0.5:
            case.files[f"there/{names[0]}"] = case.pick(random, b"old", wrong=[FOLDER])
            case.blamed.add("--out")
    case.out, case.written = out, names
    words += ["--out", out]


def _system(random: Random, case: Case) -> str:
    if random.random() < 0.7:
        return system_file(random, case)
    case.blamed.add("--system")
    return case.pick(random, *_PRESETS, wrong=["no", "./", "no.toml", odd_text(random)])


def model_file(random: Random, case: Case) -> str:
    """Add a model file, a Transformer or a list of GEMMs, to the case."""
    text = random.choice([_MODEL_FILE, _MODEL_FILE, _GEMM_FILE])
    key = random.choice(["hidden", "layers", "heads", "batch", "experts", "ffn", "name", "gemm"])
    if random.random() < 2 * case.faults:
        value = random.choice(["0", "-1", "3", "1e9", "nan", "[]", '""', "true", "1048577"])
        text = f"{key} = {value}\n" + text
        case.blamed |= {key, "model.toml"}
    return add_file(random, case, "model.toml", text)


def _run(random: Random, case: Case) -> None:
    words = ["run", "--engine", "golden"]
    if random.random() < 0.7:
        given = {f"--{name}": value for name, value in sizes(random, case).items()}
        for name in list(given):
            if random.random() < case.faults / 2:
                del given[name]
        case.blamed |= {
            "--m",
            "--n",
            "--k",
            " x ",
            "gpu.",
        }  # a size that this system cannot compute
        _set(random, case, words, given)
    else:
        model = case.pick(
            random, model_file(random, case), wrong=["T-NLG", "gpt", odd_text(random)]
        )
        _set(random, case, words, {"--model": model})
        _set(random, case, words, _some(random, {"--layer": case.pick(random, "op", wrong=["x"])}))
        case.blamed |= {"--model", "--layer", " x "}
    names = ("t3", "sequential,t3", ",".join(ON_A_RING), "ideal-overlap", " t3 , t3-mca")
    options = {
        "--tp": case.pick(random, 2, 2, 4, wrong=[3, 64, 65, 0, 1]),
        "--tokens": case.pick(random, 1, 256, wrong=[0]),
        "--dtype": case.pick(random, "fp16", "bf16", wrong=["fp8"]),
        "--channels": case.pick(random, "auto", "all", 1, 2, 3, wrong=[5, 0]),
        "--gpus": case.pick(random, "mirror", "all", wrong=["none"]),
        "--configurations": case.pick(random, *names, wrong=["t3,t3", "", ","]),
        "--repeat": case.pick(random, 1, 1, 2, wrong=[0, 1001]),
        "--seed": case.pick(random, 0, 1, 2**32 - 1, wrong=[2**32, -1]),
        "--waves": random.choice(["1:2", "2:1", ":"]),
    }
    share = {"--tp": 1.0, "--tokens": 0.1, "--waves": case.faults}
    chosen = {name: v for name, v in options.items() if random.random() < share.get(name, 0.3)}
    case.blamed.update(chosen)
    _set(random, case, words, chosen)
    _set(random, case, words, {"--system": _system(random, case)})
    _out(random, case, words, (RESULT, REPORT, PICTURE, ROOFLINE, TIMELINE))
    if random.random() < 0.3:
        words.append("--json")
    _finish(random, case, words)


def _check(random: Random, case: Case) -> None:
    words = ["check", "--engine", "golden"]
    options = {
        "--gpus": case.pick(random, 2, 3, 4, 8, wrong=[9, 1]),
        **{f"--{name}": value for name, value in sizes(random, case).items()},
        "--dtype": case.pick(random, "fp16", "bf16", wrong=["fp32"]),
        "--contexts": case.pick(random, 1, 2, wrong=[3]),
        "--granularity": case.pick(random, "workgroup", "wavefront", wrong=["tile"]),
        "--channels": case.pick(random, 1, 2, 4, wrong=[3, 0, 64]),
        "--skew": case.pick(random, 0, 100, 1_000_000, wrong=[1_000_001]),
        "--back-pressure": case.pick(random, 0, 50, 95, wrong=[96]),
        "--seed": case.pick(random, 0, 2**32 - 1, wrong=[2**32]),
    }
    chosen = _some(random, options)
    case.blamed |= {*chosen, "--m", "--n", " x "}
    _set(random, case, words, chosen)
    _finish(random, case, words)


def grid_file(random: Random, case: Case) -> str:
    """Add a grid to the case."""
    axes = {
        "m": random.choice(["256", "[256, 256]", "[]", "[0]", "1.5", str(list(range(1, 400)))]),
        "n": random.choice(["256", "[128, 256]", '"x"']),
        "k": random.choice(["64", "[64, 128]", "true", str(list(range(1, 400)))]),
        "tp": random.choice(["2", "[2, 4]", "1", "[[2]]"]),
    }
    valid = {"m": "256", "n": "256", "k": "64", "tp": "2"}
    axes = {name: axes[name] if random.random() < 2 * case.faults else valid[name] for name in axes}
    if random.random() < case.faults:
        axes[random.choice(["model", "layer", "tokens", "dtype", "x", "seed"])] = '"fp16"'
    lines = ['title = "a test"', "[[grid]]"]
    lines += [f"workload.{name} = {value}" for name, value in axes.items()]
    base = case.pick(random, "asplos24", wrong=["h900"])
    lines.append(f'system.base = ["{base}"]')
    small = "gpu.compute_units = 8|dram.channels = 4|l2.slices = 8|l2.capacity_mib = 2"
    lines += [f"system.{line}" for line in small.split("|")]
    for key, value in changes(random, case, most=1).items():
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            shown = json.dumps(value) if isinstance(value, str) else repr(value)
            lines.append(f"system.{key} = {random.choice([shown, f'[{shown}, {shown}]', '[]'])}")
    names = case.pick(
        random, '["t3"]', '["sequential", "t3"]', '"t3"', wrong=["[]", '["t3", "t3"]', '["x"]']
    )
    lines += ['run.engine = "golden"', f"run.configurations = {names}"]
    if random.random() < case.faults:
        lines += [random.choice(["[[grid]]", "title = 3", "run.seed = [1, 2]", "x = 1"])]
    case.blamed |= {"grid.toml"}
    return add_file(random, case, "grid.toml", "\n".join(lines) + "\n")


def _sweep(random: Random, case: Case) -> None:
    words = [
        "sweep",
        case.pick(random, grid_file(random, case), wrong=[odd_text(random), "no.toml"]),
    ]
    options = {
        "--workers": case.pick(random, 1, wrong=[0, 2000]),
        "--engine": case.pick(random, "golden", wrong=["x"]),
        "--scheduler": odd_text(random),
    }
    chosen = {name: options[name] for name in options if random.random() < case.faults}
    case.blamed |= {*chosen, words[1]}
    _set(random, case, words, chosen)
    _out(random, case, words, (*FILES, "points.jsonl"))
    _finish(random, case, words)


def _model(random: Random, case: Case) -> None:
    words = ["model", case.pick(random, model_file(random, case), wrong=["gpt", odd_text(random)])]
    options = {
        "--tp": case.pick(random, 2, 4, wrong=[3, 0]),
        "--dtype": case.pick(random, "fp16", "bf16", wrong=["x"]),
        "--workers": case.pick(random, 1, wrong=[0]),
    }
    chosen = _some(random, options) | {"--system": _system(random, case)}
    if "--tp" not in chosen:
        chosen["--tp"] = 2
    case.blamed |= {*chosen, words[1], "model", "tp"}
    _set(random, case, words, chosen)
    _out(random, case, words, (TABLE, "points.jsonl", "table.csv", "table.parquet", "sweep.json"))
    _finish(random, case, words)


def trace_file(random: Random, case: Case) -> str:
    """Add a trace to the case."""
    wrong = ["281474976710656", "-1", "1.5", "010", "x", ""]
    lines = [] if random.random() < case.faults else ["R 0"]
    for _ in range(random.choice([0, 1, 5, 20])):
        address = case.pick(random, "0", "32", "0x1f40", "281474976710655", wrong=wrong)
        access = case.pick(random, "R", "W", "U", "r", "LD", "ST", wrong=["X", "", "R W"])
        lines.append(random.choice([f"{access} {address}", f"{address} {access} # x", ""]))
    case.blamed.add("trace")
    return add_file(random, case, "trace.txt", "\n".join(lines) + "\n")


def _dram(random: Random, case: Case) -> None:
    words = ["dram"]
    if random.random() < 0.7:
        words.append(case.pick(random, *PATTERNS, wrong=["x", odd_text(random)]))
        case.blamed.add(words[-1])
    else:
        _set(random, case, words, {"--trace": trace_file(random, case)})
    options = {
        "--system": _system(random, case),
        "--ratio": case.pick(random, "1:1", "2:1", wrong=["0:1", "1000:1", "2"]),
        "--offset": case.pick(random, 0, 32, 64, 2**40, wrong=[33, 2**40 + 1]),
        "--stride": case.pick(random, 1, 2, 64, 2**30, wrong=[2**30 + 1, 0]),
        "--offered": case.pick(random, 1, 64, wrong=[65, 0]),
        "--queue": case.pick(
            random, "1", "64", "64+64", "1+1", "2+2", wrong=["65", "0", "+", "65+65"]
        ),
        "--refresh": case.pick(random, "none", wrong=["all-bank", "per-bank", "x"]),
        "--map": case.pick(
            random, "column:3 group:1 column:3 group:1 bank:2", wrong=["column:6", ""]
        ),
    }
    chosen = _some(random, options, 0.25) | {
        "--requests": case.pick(random, 1, 2, 1000, wrong=[0, 1 << 24])
    }
    case.blamed |= {*chosen, "pattern", "trace", "address_map"}
    _set(random, case, words, chosen)
    if random.random() < 0.3:
        words.append("--json")
    _finish(random, case, words)


_RESULT_CHANGES = (
    '"version"', '"total_ns"', '"workload"', '"configurations"', '"system"', '"m"', '"engine"',
)  # fmt: skip


def result_file(random: Random, case: Case, name: str) -> str:
    """Add a result to the case, in some cases one with another value or without a key."""
    work = Workload(model="a", layer="b", tp=random.choice([2, 4]), m=512, n=512, k=64)
    names = random.choice([("sequential", "t3"), ("t3",), ("sequential", "t3", "t3-mca")])
    text = json.dumps(example_result(work, RunOptions(configurations=names)).as_dict())
    if random.random() < 2 * case.faults:
        key = random.choice(_RESULT_CHANGES)
        new = random.choice(
            [f"{key}: NaN, {key}x", f"{key}: 1e400, {key}x", f"{key}: null, {key}x", f"{key}x"]
            + [
                f"{key}: {value}, {key}x"
                for value in ("0", "-1", "1e308", '"x"', "[]", "{}", "1e999")
            ]
            + [f"{key}: {'9' * 400}, {key}x", f"{key}: {'9' * 5000}, {key}x"]
        )
        text = text.replace(key, new)
        case.blamed.add(name)
    return add_file(random, case, name, text)


def _compare(random: Random, case: Case) -> None:
    one = result_file(random, case, "one.json")
    other = case.pick(
        random, result_file(random, case, "other.json"), one, wrong=[odd_text(random)]
    )
    case.blamed |= {one, other, "RESULT"}
    if random.random() < 0.1:
        case.files |= {"folder": FOLDER, "folder/result.json": case.files[one]}
        other = "folder"
    _finish(random, case, ["compare", one, other])


def _config(random: Random, case: Case) -> None:
    command = case.pick(random, "show", "validate", "validate", "diff", wrong=["x", ""])
    words = ["config", *([command] if command else [])]
    for _ in range(2 if command == "diff" else 1):
        words.append(_system(random, case))
        case.blamed.add(words[-1])
    case.blamed |= {command, "system", "SYSTEM", "gpu.", "kernel."}
    _finish(random, case, words)


def _finish(random: Random, case: Case, words: list[str]) -> None:
    """Choose the output of the command, and make some mistakes of the whole line."""
    if random.random() < case.faults / 4:
        words.insert(random.randrange(len(words) + 1), odd_text(random))
        case.blamed |= {*words, "Usage", "Missing", "unexpected"}
    if random.random() < 0.02:
        words.append("--help")
    words = [word.replace("\0", "") for word in words]
    encoding = random.choice(["utf-8"] * 6 + ["ascii", "latin-1"])
    case.what = Command(tuple(words), encoding, to_full_device=random.random() < 0.02)


COMMANDS: tuple[Maker, ...] = (_run, _check, _sweep, _model, _dram, _compare, _config)
