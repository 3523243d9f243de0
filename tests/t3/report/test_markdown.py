"""Generated pages: lengths of their lines."""

import textwrap

import pytest

from t3.report.markdown import filled

_SENTENCE = "Of each word it is known where it stands. " * 6


def test_a_paragraph():
    page = f"# Title\n\n{_SENTENCE.strip()}\n\nShort.\n"
    made = filled(page)
    assert all(len(line) <= 120 for line in made.split("\n"))
    assert made.replace("\n", " ").split() == page.split()
    assert made.endswith("\n\nShort.\n")


def test_an_item_goes_on_below_its_text():
    first, *rest = filled(f"- {_SENTENCE.strip()}").split("\n")
    assert first.startswith("- ")
    assert rest
    assert all(line.startswith("  ") and not line.startswith("   ") for line in rest)


@pytest.mark.parametrize("sign", ["+", "-", "*", "=", "---", "##", "3.", "10)"])
@pytest.mark.parametrize("before", range(108, 121))
def test_no_sign_begins_a_list_or_a_heading(sign, before):
    line = "x" * before + f" {sign} " + _SENTENCE.strip()
    assert all(not one.startswith(f"{sign} ") for one in filled(line).split("\n"))
    assert filled(line).replace("\n", " ") == line


@pytest.mark.parametrize(
    "word",
    ["%", "%.", "#1", ">", "|", ":::", "+++", "$$", "```", "~~~", "(x)=", "[1]:", "<b>", "<!--"],
)
@pytest.mark.parametrize("start", ["", "- "])
@pytest.mark.parametrize("before", range(108, 121))
def test_no_word_begins_a_block_of_any_dialect(word, start, before):
    line = start + "x" * before + f" {word} " + _SENTENCE.strip()
    assert all(not one.strip().startswith(word) for one in filled(line).split("\n"))
    assert filled(line).split() == line.split()


@pytest.mark.parametrize("start", ["| ", "![", "# ", "<p>", "    "])
def test_tables_pictures_headings_and_code_stay(start):
    line = start + _SENTENCE
    assert filled(line) == line
    fenced = f"```\n{_SENTENCE}\n```\n"
    assert filled(fenced) == fenced


def test_it_changes_nothing_twice():
    page = textwrap.dedent(f"""\
        # Title

        {_SENTENCE}

        - {_SENTENCE}
        """)
    assert filled(filled(page)) == filled(page)
