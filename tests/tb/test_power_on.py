"""Every bench passes with any contents of registers and memories before the reset.

In an FPGA they begin with the values in their Verilog, in an ASIC with any values.
"""

import re

import numpy as np
import pytest

from rtl.export.back_end import verilog_text
from tb.benches import BENCHES
from tb.runner import SIMULATORS, build_bench, run_tests
from tests.support.optional_tools import needs

_REGISTER = re.compile(r"^( *reg (?:\[\d+:0\] )?\S+ *= )(\d+)'[hbd][0-9a-f]+;$", re.MULTILINE)
_MEMORY = re.compile(r"^ *initial begin\n.*?^ *end$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"^( *\S+\[\d+\] = )(\d+)'[hbd][0-9a-f]+;$", re.MULTILINE)


def _any_power_on(verilog: str, rng: np.random.Generator) -> str:
    """Return the Verilog with a random initial value in each register and each word of a memory."""

    def other(found: re.Match[str]) -> str:
        declaration, bits = found[1], int(found[2])
        value = int.from_bytes(rng.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)
        return f"{declaration}{bits}'h{value:x};"

    def all_words(memory: re.Match[str]) -> str:
        changed, count = _WORD.subn(other, memory[0])
        assert count == memory[0].count("\n") - 1, "a word of a memory keeps its value"
        return changed

    changed, count = _REGISTER.subn(other, verilog)
    assert count > 0, "no register has a value before the reset"
    return _MEMORY.sub(all_words, changed)


def _run(name, simulator="verilator"):
    # Verilator's build takes ten seconds.
    return pytest.param(name, simulator, marks=() if simulator == "icarus" else pytest.mark.verify)


@pytest.mark.parametrize(
    ("name", "simulator"), [_run("round_robin", "icarus"), *map(_run, BENCHES)]
)
def test_passes(name, simulator, tmp_path):
    if program := SIMULATORS[simulator]:
        needs(program)
    target = BENCHES[name]
    print(f"seed {target.seed}")
    text = verilog_text(target.make(), name, gated=True)
    text = _any_power_on(text, np.random.default_rng(target.seed))
    build_bench(text, name=name, directory=tmp_path, simulator=simulator)
    module, seed = target.module, target.seed
    run_tests(name=name, test_module=module, directory=tmp_path, seed=seed, simulator=simulator)
