import pytest

from sysmodel.lib import progress


@pytest.fixture(autouse=True)
def one_line(monkeypatch):
    """No line of progress beside an error's, however slow the machine."""
    monkeypatch.setattr(progress, "_FIRST_LINE_S", 600.0)
