import os
import subprocess
import sys

import numba
import pytest

from sysmodel.lib.cache import cache_folder, digest
from sysmodel.lib.numba_cache import KEPT_FOLDERS, use_numba_cache


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    return tmp_path


def test_tests_keep_out_of_the_users_cache():
    assert cache_folder().parts[-2:] == ("build", "test-cache")
    assert cache_folder() in (cache_folder() / numba.config.CACHE_DIR).parents


def test_folder_without_a_choice(monkeypatch):
    monkeypatch.delenv("T3_CACHE_DIR")
    assert cache_folder().name == "t3"


@pytest.mark.parametrize(
    "module",
    [
        "sysmodel.lib.compiled",
        "sysmodel.gpu.geometry.output_atoms",
        "verification.arithmetic.unit",
        "verification.faults.link",
    ],
)
def test_compiled_code_is_in_the_folder(cache, module):
    program = f"import {module}, numba; print(numba.config.CACHE_DIR)"
    printed = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert printed.strip() == str(use_numba_cache())
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == printed.strip()


def test_removes_the_folders_not_used_for_longest(cache):
    for age in range(KEPT_FOLDERS + 2):
        old = cache / "numba" / f"old{age}"
        old.mkdir(parents=True)
        os.utime(old, (1e9 - age, 1e9 - age))
    current = use_numba_cache()
    kept = {current.name, *(f"old{age}" for age in range(KEPT_FOLDERS - 1))}
    assert {path.name for path in (cache / "numba").iterdir()} == kept


def test_unwritable_cache_is_no_error(cache, monkeypatch):
    (cache / "file").touch()
    monkeypatch.setenv("T3_CACHE_DIR", str(cache / "file"))
    use_numba_cache()


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
