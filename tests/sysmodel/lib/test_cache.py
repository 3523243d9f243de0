"""Cache that cannot be written: its files are used, and new files go into a temporary folder."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sysmodel.lib import cache, code_cache
from sysmodel.lib.cache import cache_folder, locked

_PROGRAM = """
from twice import twice
from sysmodel.lib.cache import cache_folder
print(twice(4), cache_folder())
"""


@pytest.fixture
def program(tmp_path):
    """Run a program with a compiled function on a cache."""
    (tmp_path / "twice.py").write_text(
        "from sysmodel.lib.compiled import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n"
    )

    def run(folder):
        return subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            cwd=tmp_path,
            env=os.environ | {"T3_CACHE_DIR": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )

    return run


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_in_place_of_the_folder(program, tmp_path, inside):
    (tmp_path / "file").touch()
    chosen = tmp_path / "file" / "t3" if inside else tmp_path / "file"
    done = program(chosen)
    result, folder = done.stdout.split()
    assert result == "8"
    assert done.stderr.startswith(f"t3: the cache folder '{chosen}' cannot be written (")
    assert "T3_CACHE_DIR" in done.stderr and done.stderr.count("\n") == 1
    assert not Path(folder).exists()  # the temporary folder is removed at the end


def test_a_cache_that_can_only_be_read_is_used(monkeypatch, tmp_path, capsys):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "code.nbc").write_text("machine code")
    (tmp_path / "numba" / "x.lock").touch()
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, _: not Path(path).is_relative_to(tmp_path))
    folder = cache_folder()
    assert folder != tmp_path and os.environ["T3_CACHE_DIR"] == str(folder)
    assert (folder / "numba" / "code.nbc").read_text() == "machine code"
    (folder / "numba" / "new.nbc").write_text("more")
    with locked(folder / "numba" / "x.lock"):
        pass
    assert sorted(path.name for path in (tmp_path / "numba").iterdir()) == ["code.nbc", "x.lock"]
    assert capsys.readouterr().err == ""
    for _ in range(2):
        cache.report_not_stored()
    assert capsys.readouterr().err.count("cannot be written (Permission denied)") == 1


def test_code_is_used_although_the_disk_is_full(monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(code_cache.FunctionCache, "save_overload", full)
    from sysmodel.lib.compiled import compiled

    @compiled
    def thrice(x):
        return 3 * x

    assert thrice(4) == 12
    shown = capsys.readouterr().err
    assert "cannot be written (No space left on device)" in shown and shown.count("\n") == 1


def test_the_lock_of_another_user(monkeypatch, tmp_path):
    path = tmp_path / "x.lock"
    path.touch()
    path_open = Path.open

    def only_read(self, mode="r", **options):
        if mode != "r":
            raise PermissionError(errno.EACCES, "Permission denied")
        return path_open(self, mode, **options)

    monkeypatch.setattr(Path, "open", only_read)
    with locked(path):
        pass
