"""The closure of a module's imports against what Python loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from sysmodel.lib.import_closure import import_closure

_ROOT = Path(__file__).parents[3]
_LOADED = """
import sys, importlib
importlib.import_module({module!r})
for one in list(sys.modules.values()):
    if getattr(one, "__file__", None):
        print(one.__file__)
"""


@pytest.mark.parametrize(
    "module",
    [
        *("sysmodel.machine.loop", "sysmodel.engine.golden.model", "sysmodel.network.alone"),
        *("verification.faults.link", "t3.experiments.dram.loop", "rtl.registers.map"),
    ],
)
def test_closure_is_what_python_loads(module):
    program = _LOADED.format(module=module)
    printed = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=_ROOT)
    loaded = {Path(line) for line in printed.splitlines()}
    loaded = {one for one in loaded if one.is_relative_to(_ROOT) and ".venv" not in one.parts}
    sources = {one for one in _closure(module) if one.suffix == ".py"}
    assert sources <= loaded
    # Packages around the modules load modules, too, but give their names to none of the sources.
    others = {one for one in loaded - sources if one.name == "__init__.py"}
    others |= {file for one in others for file in _closure(_package(one))}
    assert loaded - sources <= others


def _closure(module):
    path = _ROOT.joinpath(*module.split("."))
    return import_closure(
        path / "__init__.py" if path.is_dir() else path.with_suffix(".py"), module
    )


def _package(file):
    return ".".join(file.parent.relative_to(_ROOT).parts)


def test_register_descriptions_beside_a_module_belong_to_it():
    module = "sysmodel.engine.golden.model"
    found = import_closure(_ROOT / "sysmodel/engine/golden/model.py", module)
    assert _ROOT / "rtl/registers/t3.rdl" in found
