"""List of clock-gated blocks: its progress and its cache."""

import pytest
from amaranth.hdl import Fragment

from rtl.parameters import T3Parameters
from rtl.top import T3
from sysmodel.engine.gated_blocks import flip_flops_of_kinds, gated_blocks_within


def test_the_elaboration_has_a_progress_line_of_its_own(tmp_path, monkeypatch):
    """The elaboration takes longer than a small run, whose last line would seem to stand still."""
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    reported = []
    p = T3Parameters()
    first = flip_flops_of_kinds(p, lambda task, share: reported.append(task))
    assert len(reported) == 1
    assert str(p.channels) in reported[0]
    assert flip_flops_of_kinds(p, lambda task, share: reported.append(task)) == first
    assert len(reported) == 1


def test_an_interrupted_elaboration_leaves_no_file(tmp_path, monkeypatch):
    def interrupted(parameters):
        raise KeyboardInterrupt

    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("sysmodel.engine.gated_blocks._elaborated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        flip_flops_of_kinds(T3Parameters())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_one_block_of_a_kind_stands_for_all(tmp_path, monkeypatch):
    """The counts are those of every block of the whole hardware."""
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    p = T3Parameters(channels=4)
    every = [one for _, one in gated_blocks_within(Fragment.get(T3(p), None))]
    counts = flip_flops_of_kinds(p)
    assert {block.kind for block in every} == set(counts)
    assert all(block.flip_flops == counts[block.kind] for block in every)
