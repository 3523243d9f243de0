"""Parser of Liberty files, tables and Boolean functions."""

import itertools

import pytest

from t3.silicon.functions import truth_table
from t3.silicon.liberty import parse
from t3.silicon.tables import Table


def test_groups_and_attributes():
    text = """
    /* a { comment */ library (lib) {
      define (own, cell, string);   // another
      time_unit : "1ns" ;
      capacitive_load_unit (1, pf);
      cell ("A{B}") { area : 2.5; pin (X, Y) { direction : "input" } pin(Z){} }
      cell (C) { values ("1, 2", \\
                         "3, 4"); }
    };
    """
    library = parse(text)
    assert library.name == "lib"
    assert library.values == {"time_unit": "1ns"}
    assert library.lists["capacitive_load_unit"] == ("1", "pf")
    first, second = library.all("cell")
    assert first.name == "A{B}"
    assert first.values == {"area": "2.5"}
    assert [pin.arguments for pin in first.all("pin")] == [("X", "Y"), ("Z",)]
    assert first.first("pin").values == {"direction": "input"}
    assert second.lists["values"] == ("1, 2", "3, 4")
    assert second.first("pin") is None


@pytest.mark.parametrize(
    "text, problem",
    [
        ("library (a) {\n cell (b) {", "cell is not closed"),
        ("library (a) { } }", "too many"),
        ("library (a) {\n = 3;\n}", "line 1 is not Liberty"),
        ("cell (a) { }", "no library"),
    ],
)
def test_refuses_text_that_is_not_liberty(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse(text)


@pytest.mark.parametrize(
    "text, function",
    [
        ("!A", lambda a, b, c: not a),
        ("A'", lambda a, b, c: not a),
        ("(A B)'", lambda a, b, c: not (a and b)),
        ("A*B + C", lambda a, b, c: a and b or c),
        ("A & (B | C)", lambda a, b, c: a and (b or c)),
        ("(!((C A) + (!C B)))", lambda a, b, c: not (a if c else b)),
        ("A ^ B ^ C", lambda a, b, c: a ^ b ^ c),
        ("A B ^ C", lambda a, b, c: a and b ^ c),
        ("!A' + 1 0", lambda a, b, c: a),
    ],
)
def test_truth_table(text, function):
    expected = [bool(function(*v)) for v in itertools.product((False, True), repeat=3)]
    assert list(truth_table(text, ("A", "B", "C"))) == expected


@pytest.mark.parametrize("text", ["", "A +", "A D", "(A", "A)", "A ? B"])
def test_refuses_text_that_is_no_function(text):
    with pytest.raises(ValueError):
        truth_table(text, ("A", "B", "C"))


def test_table_reproduces_a_bilinear_function():
    def value(x, y):
        return 1 + 2 * x - 3 * y + 4 * x * y

    rows, columns = (0.0, 0.5, 2.0), (1.0, 1.5)
    table = Table(rows, columns, tuple(tuple(value(x, y) for y in columns) for x in rows))
    for x, y in [(0.2, 1.2), (0.5, 1.5), (3.0, 1.2), (-1.0, 0.5), (1.0, 9.0)]:
        assert table.at(x, y) == pytest.approx(value(x, y))


def test_table_of_one_variable():
    assert Table((0.0,), (1.0, 2.0), ((5.0, 7.0),)).at(99.0, 1.5) == pytest.approx(6.0)
    assert Table((1.0, 2.0), (0.0,), ((5.0,), (7.0,))).at(1.5, 99.0) == pytest.approx(6.0)
    assert Table((0.0,), (0.0,), ((5.0,),)).at(1.0, 1.0) == 5.0
