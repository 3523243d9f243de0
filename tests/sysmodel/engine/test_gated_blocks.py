"""List of clock-gated blocks: its progress and its cache."""

import pytest

from rtl.parameters import T3Parameters
from sysmodel.engine.gated_blocks import gated_blocks_of


def test_the_elaboration_has_a_progress_line_of_its_own(tmp_path, monkeypatch):
    """The elaboration takes longer than a small run, whose last line would seem to stand still."""
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    reported = []
    p = T3Parameters()
    first = gated_blocks_of(p, lambda task, share: reported.append(task))
    assert len(reported) == 1
    assert str(p.channels) in reported[0]
    assert gated_blocks_of(p, lambda task, share: reported.append(task)) == first
    assert len(reported) == 1


def test_an_interrupted_elaboration_leaves_no_file(tmp_path, monkeypatch):
    def interrupted(parameters):
        raise KeyboardInterrupt

    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("sysmodel.engine.gated_blocks._elaborated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gated_blocks_of(T3Parameters())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
