"""Checkpoints: whatever happens while a line is written, the other results are there."""

import resource

import pytest

from sysmodel.lib.checkpoints import Checkpoint
from sysmodel.lib.errors import InputError

_CODE = "digest of the sources"
_ROWS = {"t3": {"total_ns": 1 / 3, "link_rs_bytes": 12}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "points.jsonl"


def read(path, code=_CODE):
    return Checkpoint(path, code)


def append(path, *identities, code=_CODE):
    with Checkpoint(path, code) as checkpoint:
        for identity in identities:
            checkpoint.append(identity, _ROWS)
    return checkpoint


def test_appended_results_are_read(path):
    append(path, "a", "b")
    with Checkpoint(path, _CODE) as checkpoint:
        checkpoint.append("a", {"sequential": {"total_ns": 2.0}})
        checkpoint.append("c", _ROWS, title="third")
    both = {**_ROWS, "sequential": {"total_ns": 2.0}}
    for one in (checkpoint, read(path)):
        assert one.results == {"a": both, "b": _ROWS, "c": _ROWS}
        assert (one.other_code, one.unreadable) == (0, 0)


def test_an_absent_file_holds_no_result_and_is_not_made(path):
    assert read(path).results == {}
    assert not path.parent.exists()


def test_every_torn_last_line_is_ignored_and_overwritten(path):
    append(path, "a", "b")
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for length in range(second, len(whole)):
        path.write_bytes(whole[:length])
        found = read(path)
        assert list(found.results) == ["a"]
        assert found.unreadable == (length > second)
        append(path, "b")
        assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["", "[]", "nonsense", '{"code": 1}', "\xff", "null"])
def test_lines_that_hold_no_result(path, line):
    path.parent.mkdir()
    path.write_bytes(line.encode("latin-1") + b"\n")
    append(path, "a")
    found = read(path)
    assert found.results == {"a": _ROWS}
    assert found.unreadable == 1


def test_results_of_other_sources_are_not_used(path):
    append(path, "a", code="other")
    append(path, "b")
    found = read(path)
    assert list(found.results) == ["b"]
    assert found.other_code == 1


def test_only_one_process_writes(path):
    with read(path), pytest.raises(InputError, match="out: another process is writing"):
        read(path).__enter__()
    with read(path):
        pass


def test_a_place_that_cannot_be_written(tmp_path):
    checkpoint = read(tmp_path / "file" / "points.jsonl")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="out: .*cannot be written: File exists"):
        checkpoint.__enter__()
    with pytest.raises(InputError, match="out: .*cannot be read: Not a directory"):
        read(tmp_path / "file" / "points.jsonl")


def test_a_result_for_which_there_is_no_space(path):
    """The message names the file, and the results before it are there."""
    append(path, "a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
        with pytest.raises(InputError, match="out: .*cannot be written: File too large"):
            append(path, "b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read(path).results == {"a": _ROWS}
