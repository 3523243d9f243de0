"""The recipes of CONTRIBUTING.md, each followed with a toy in a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path):
    """A copy of the packages and of the tests that a recipe names."""
    for folder in ("rtl", "sysmodel", "t3", "tb", "tests"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(tree, file, text):
    path = tree / file
    assert not path.exists()
    path.write_text(textwrap.dedent(text))


def insert(tree, file, before, line):
    """Put a line before the first one that begins with ``before``."""
    path = tree / file
    lines = path.read_text().splitlines()
    at = next(i for i, one in enumerate(lines) if one.strip().startswith(before))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    path.write_text("\n".join([*lines[:at], indent + line, *lines[at:]]) + "\n")


def run(tree, *arguments):
    environment = os.environ | {"PYTHONPATH": str(tree), "T3_CACHE_DIR": str(tree / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def t3(tree, *arguments):
    return run(tree, "-m", "t3", *arguments)


@pytest.mark.verify
def test_an_arbitration_policy(tree):
    """Communication first: RTL and golden model agree on it in every cycle."""
    insert(tree, "rtl/interface/encodings.py", "MCA = 2", "COMMUNICATION_FIRST = 5")
    add(
        tree,
        "rtl/channel/arbitration/communication_first.py",
        '''
        """Communication always goes first."""

        from amaranth.hdl import Const, Value

        from .arbiter_inputs import ArbiterInputs

        __all__ = ["communication_first"]


        def communication_first(now: ArbiterInputs) -> Value:
            return Const(1)
        ''',
    )
    add(
        tree,
        "sysmodel/engine/golden/channel/arbitration/communication_first.py",
        '''
        """Communication always goes first."""

        from sysmodel.lib.compiled import inlined

        from .inputs import ArbiterInputs

        __all__ = ["communication_first"]


        @inlined
        def communication_first(now: ArbiterInputs) -> int:
            if now.communication:
                return 1
            return 0 if now.compute else -1
        ''',
    )
    for folder in ("rtl/channel/arbitration", "sysmodel/engine/golden/channel/arbitration"):
        file, name = f"{folder}/policies.py", "communication_first"
        insert(tree, file, "from .mca", f"from .{name} import {name}")
        insert(tree, file, "Policy.MCA: mca", f"Policy.COMMUNICATION_FIRST: {name},")
    add(
        tree,
        "test_policy.py",
        """
        from rtl.interface.encodings import Policy
        from test_arbiter import DEFAULT, cycle, simulate


        def test_both_want_it():
            async def bench(ctx, dut):
                ctx.set(dut.configuration, DEFAULT | {"policy": Policy.COMMUNICATION_FIRST})
                for _ in range(5):
                    assert await cycle(ctx, dut, 1, 1) == "m"

            simulate(bench)
        """,
    )
    arbiter = "tests/rtl/channel/test_arbiter.py"
    shutil.copy(tree / arbiter, tree / "test_arbiter.py")
    options = ("-q", "-p", "no:cacheprovider", "--override-ini=pythonpath=. tests/rtl")
    shown = run(
        tree,
        "-m",
        "pytest",
        *options,
        "test_policy.py",
        f"{arbiter}::test_against_the_golden_model",
    )
    assert "5 passed" in shown
    written = run(
        tree,
        "-c",
        "from sysmodel.machine.program import _code; from rtl.interface.encodings import Policy;"
        "print(_code(Policy, 'communication-first').value)",
    )
    assert written == "5\n"


def test_a_preset(tree):
    add(
        tree,
        "sysmodel/config/presets/toy.toml",
        """
        base = "asplos24"
        description = "a toy with a link of 20 GB/s"
        source = "invented"

        [link]
        bandwidth_gb_per_s = 20    # per direction
        """,
    )
    assert "toy" in t3(tree, "presets")
    shown = run(
        tree,
        "-c",
        "from sysmodel.config.system import load_system as load; toy = load('toy');"
        "print(toy.link.bandwidth_gb_per_s, toy.gpu == load('asplos24').gpu)",
    )
    assert shown == "20.0 True\n"


def test_a_topology(tree):
    add(
        tree,
        "sysmodel/config/topologies/toy.toml",
        """
        base = "switch"
        description = "each GPU has a link to two planes of a switch that multicasts"
        source = "invented"

        [switch]
        planes = 2                      # channel c takes plane c modulo 2
        multicasts = true               # the switch copies a packet for several GPUs
        """,
    )
    assert "toy" in t3(tree, "topology", "list")
    shown = t3(tree, "topology", "show", "toy", "--gpus", "6", "--system", "h100")
    assert shown.count(" 12 ") == 2 and shown.count(" 225 ") == 2
    assert "2 switches" in shown and "copies packets" in shown


def test_a_program(tree):
    """The file of the recipe, as it stands in CONTRIBUTING.md."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text().partition("### Add a program")[2]
    file = re.search(r"```toml\n(.*?)```", recipe, re.S)[1]
    add(tree, "sysmodel/config/programs/toy.toml", file)
    assert "toy" in t3(tree, "program", "list")
    shown = t3(tree, "program", "show", "toy")
    assert "512 x 384 x 64" in shown
    assert "Configurations: sequential, t3, " in shown and "cu-split-16, " in shown
    keys = run(
        tree,
        "-c",
        "from sysmodel.runs.program.files import load_program;"
        "from sysmodel.runs.columns import catalogue;"
        "print(*(key for key in catalogue(load_program('toy')).by_key if 'next' in key))",
    ).split()
    assert {"next_ns", "dram_next_read_bytes", "next_updates", "next_efficiency"} <= {*keys}


def test_a_model(tree):
    add(
        tree,
        "sysmodel/config/models/toy.toml",
        """
        name = "Toy"
        hidden = 1024
        layers = 2
        heads = 16
        sequence = 512
        batch = 4
        tensor_parallel = [2, 4]
        source = "invented"
        confidence = "L"
        """,
    )
    assert "Toy" in t3(tree, "models")


def test_a_configuration(tree):
    add(
        tree,
        "sysmodel/runs/configurations/half.py",
        '''
        """Half of another one's time."""

        from dataclasses import replace

        __all__ = ["half"]


        def half(program, whole):
            return replace(whole, total_cycles=whole.total_cycles // 2)
        ''',
    )
    insert(
        tree,
        "sysmodel/runs/configurations/registry.py",
        "_cu_split(8),",
        'Configuration("half", "half.half", of=("sequential",), default=False),',
    )
    assert "half" in " ".join(t3(tree, "run", "--help").split())
    shown = run(
        tree,
        "-c",
        "from sysmodel.runs.configurations.registry import CONFIGURATIONS;"
        "from sysmodel.runs.cycle_result import CycleResult;"
        "from sysmodel.runs.program.files import default_program;"
        "whole = CycleResult(total_cycles=10);"
        "print(CONFIGURATIONS['half'].derive(default_program(), whole).total_cycles)",
    )
    assert shown == "5\n"


def test_a_collective(tree):
    """The file of the recipe, as it stands in CONTRIBUTING.md."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text().partition("### Add a collective")[2]
    add(tree, "sysmodel/collectives/upward.py", re.search(r"```python\n(.*?)```", recipe, re.S)[1])
    assert "a ring that sends to the next rank" in " ".join(t3(tree, "collective", "list").split())
    assert t3(tree, "collective", "check", "upward", "--ranks", "5") == (
        "upward: all-gather, 5 ranks: sound\n"
    )
    tests = "tests/sysmodel/collectives/test_algorithms.py"
    shown = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, "-k", "upward")
    assert "12 passed" in shown
