import os
import subprocess
import sys
from pathlib import Path

import pytest

from sysmodel.lib.cache import cache_folder, digest
from sysmodel.lib.code_folder import KEPT_FOLDERS, code_folder

_MODULE = "sysmodel.gpu.pipe"
_ROOT = Path(__file__).parents[3]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_tests_keep_out_of_the_users_cache():
    assert cache_folder().parts[-2:] == ("build", "test-cache")
    assert code_folder(_MODULE).parent == cache_folder() / "numba"


def test_folder_without_a_choice(monkeypatch):
    monkeypatch.delenv("T3_CACHE_DIR")
    assert cache_folder().name == "t3"


@pytest.mark.parametrize(
    "module",
    [
        *("sysmodel.machine.loop", "sysmodel.gpu.geometry.output_atoms"),
        *("verification.arithmetic.unit", "t3.experiments.dram.loop"),
    ],
)
def test_compiled_code_is_in_the_folder_of_its_module(cache, module):
    program = (
        f"import {module} as module; from numba.core.registry import CPUDispatcher; "
        "print(*{one._cache.cache_path for one in vars(module).values() "
        "if isinstance(one, CPUDispatcher) and one.py_func.__module__ == module.__name__})"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert printed.strip() == str(code_folder(module))


@pytest.mark.parametrize(
    "package", ["driver", "rtl", "sysmodel", "t3", "tb", "tests", "verification"]
)
def test_numba_stores_no_code_by_itself(package):
    """Its own cache knows only the file of a function, not the sources of which it has a part."""
    for file in (_ROOT / package).rglob("*.py"):
        assert file == Path(__file__) or "cache=True" not in file.read_text(encoding="utf-8"), file
    assert not list((_ROOT / package).rglob("*.nb[ci]"))


def test_removes_the_folders_not_used_for_longest(cache):
    for age in range(KEPT_FOLDERS + 2):
        old = cache / "numba" / f"{_MODULE}-old{age}"
        old.mkdir(parents=True)
        os.utime(old, (1e9 - age, 1e9 - age))
    other = cache / "numba" / "sysmodel.gpu.pipes-old"
    other.mkdir()
    current = code_folder(_MODULE)
    kept = {current.name, *(f"{_MODULE}-old{age}" for age in range(KEPT_FOLDERS - 1))}
    assert {path.name for path in (cache / "numba").iterdir()} == kept | {other.name}


def test_unwritable_cache_is_no_error(cache, monkeypatch):
    (cache / "file").touch()
    monkeypatch.setenv("T3_CACHE_DIR", str(cache / "file"))
    assert os.access(code_folder(_MODULE), os.W_OK)


_SOURCES = {
    "part/one.py": "from .two import B\n",
    "part/two.py": "from .deep.three import (\n    A,  # a comment, with a comma\n)\nB = A\n",
    "part/deep/three.py": "A = 1\n",
    "part/other.py": "C = 1\n",
}


@pytest.mark.parametrize(
    ("changed", "is_another"),
    [("one", True), ("two", True), ("deep/three", True), ("other", False)],
)
def test_folder_depends_on_the_sources_that_the_module_imports(
    cache, tmp_path, changed, is_another
):
    root = tmp_path / "project"
    for name, text in _SOURCES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    def folder():
        program = "from sysmodel.lib.code_folder import code_folder; print(code_folder('part.one'))"
        paths = os.pathsep.join([str(root), str(_ROOT)])
        return subprocess.check_output(
            [sys.executable, "-c", program], text=True, env=os.environ | {"PYTHONPATH": paths}
        )

    before = folder()
    assert folder() == before
    with (root / f"part/{changed}.py").open("a") as file:
        file.write("D = 2\n")
    assert (folder() != before) == is_another


def test_digest(tmp_path):
    def write(folder, text):
        (tmp_path / folder).mkdir(exist_ok=True)
        path = tmp_path / folder / "module.py"
        path.write_text(text)
        return digest([path])

    first = write("a", "x = 1")
    assert write("b", "x = 1") == first
    assert write("a", "x = 2") != first
    assert len({digest([], *texts) for texts in (["a", "b"], ["ab"], ["b", "a"], ["a"])}) == 4
