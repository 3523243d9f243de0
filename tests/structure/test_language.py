"""Language of docstrings, comments, help texts and pages: nouns first, terms of the field."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from language import FOLDERS, ROOT, count, files, offenders, retired, tomllib

LIMITS = tomllib.loads(Path(__file__).with_name("language_limits.toml").read_text("utf-8"))
AIM = {"opening": 1, "what": 3, "retired": 0}
RETIRED_WORD = next(iter(retired()[0]))
RETIRED_NAME = next(iter(retired()[1]))

MADE_UP = f'''
"""Of a module."""

def option(help_text): ...

def heading(size):
    """Name the thing.

    Parameters
    ----------
    size : int
        What it is.
    """
    # What a reader wonders.
    option("Whether it runs.")
    {RETIRED_WORD}_now = {RETIRED_NAME} = size
'''


@pytest.fixture(scope="module")
def counts():
    return count(files())


@pytest.mark.parametrize("package", [*FOLDERS, "pages"])
def test_package_keeps_to_the_language_rules(counts, package):
    total = counts[package]
    limit = LIMITS.get(package, AIM)
    exceeded = {
        "opening": total.opening_share > limit["opening"],
        "what": total.what_rate > limit["what"],
        "retired": total.retired > limit["retired"],
    }
    listed = [str(one) for kind in exceeded if exceeded[kind] for one in total.offenders[kind]]
    assert not listed, "\n".join(listed)


def test_glossary_has_no_retired_word():
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)
    words = {word.strip() for entry in entries for word in entry.split(",")}
    assert "atom" in words
    assert len(words & retired()[0].keys()) <= LIMITS.get("glossary", AIM)["retired"]


def test_each_kind_of_offender_is_listed_with_its_line(tmp_path):
    file = tmp_path / "made_up.py"
    file.write_text(MADE_UP, encoding="utf-8")
    listed = sorted((kind, one.line) for kind, one in offenders(file))
    assert listed == [
        ("opening", 2),
        ("opening", 12),
        ("opening", 14),
        ("opening", 15),
        ("retired", 16),
        ("retired", 16),
        ("what", 12),
        ("what", 14),
    ]


@pytest.mark.parametrize(
    ("suffix", "text", "line"),
    [
        (".v", "module m;\n// what it does\nendmodule\n", 2),
        (".c", "int a;\n/* a\n   what */\n", 3),
        (".rdl", 'reg {\n  desc = "what it is";\n};\n', 2),
        (".md", "# A page\n\n```\nwhat\n```\n\nOf what `what` is.\n", 7),
    ],
)
def test_other_languages_and_pages_are_read(tmp_path, suffix, text, line):
    file = tmp_path / f"made_up{suffix}"
    file.write_text(text, encoding="utf-8")
    assert [(kind, one.line) for kind, one in offenders(file)] == [("what", line)]
