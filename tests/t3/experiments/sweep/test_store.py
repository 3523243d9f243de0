"""Kept results: whatever happens while a line is written, the others are there."""

import pytest

from sysmodel.lib.errors import InputError
from t3.experiments.sweep import store
from t3.experiments.sweep.store import Store, read_kept

_ROWS = {"t3": {"total_ns": 1 / 3, "link_rs_bytes": 12}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "points.jsonl"


def test_what_is_appended_is_read(path):
    with Store(path) as kept:
        kept.append("a", "first", _ROWS)
        kept.append("b", "second", _ROWS)
        kept.append("a", "first", {"sequential": {"total_ns": 2.0}})
    with Store(path) as kept:
        kept.append("c", "third", _ROWS)
    found = read_kept(path)
    both = {**_ROWS, "sequential": {"total_ns": 2.0}}
    assert found.results == {"a": both, "b": _ROWS, "c": _ROWS}
    assert (found.other_code, found.unreadable) == (0, 0)


def test_no_file_holds_nothing(path):
    assert read_kept(path).results == {}


def test_every_torn_last_line_is_ignored_and_overwritten(path):
    with Store(path) as kept:
        kept.append("a", "first", _ROWS)
        kept.append("b", "second", _ROWS)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for length in range(second, len(whole)):
        path.write_bytes(whole[:length])
        found = read_kept(path)
        assert list(found.results) == ["a"]
        assert found.unreadable == (length > second)
        with Store(path) as kept:
            kept.append("b", "second", _ROWS)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["", "[]", "nonsense", '{"code": 1}', "\xff", "null"])
def test_lines_that_are_no_results(path, line):
    path.parent.mkdir()
    path.write_bytes(line.encode("latin-1") + b"\n")
    with Store(path) as kept:
        kept.append("a", "first", _ROWS)
    found = read_kept(path)
    assert found.results == {"a": _ROWS}
    assert found.unreadable == 1


def test_results_of_other_sources_are_not_used(path, monkeypatch):
    with Store(path) as kept:
        kept.append("a", "first", _ROWS)
        monkeypatch.setattr(store, "CODE", "other")
        kept.append("b", "second", _ROWS)
        found = read_kept(path)
    assert list(found.results) == ["b"]
    assert found.other_code == 1


def test_only_one_sweep_writes(path):
    with Store(path), pytest.raises(InputError, match="out: another sweep is writing"):
        Store(path).__enter__()
    with Store(path):
        pass


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="out: .*cannot be written: File exists"):
        Store(tmp_path / "file" / "points.jsonl").__enter__()
    with pytest.raises(InputError, match="out: .*cannot be read: Not a directory"):
        read_kept(tmp_path / "file" / "points.jsonl")
