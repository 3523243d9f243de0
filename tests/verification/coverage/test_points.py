from collections import Counter

from verification.coverage.measure import BlockCoverage
from verification.coverage.points import LINE, TOGGLE, Point, read_points
from verification.coverage.report import as_markdown, unexplained


def entry(count, **fields):
    text = "".join(f"\x01{key}\x02{value}" for key, value in fields.items())
    return f"C '{text}' {count}\n"


VERILOG = "\n".join(["a line"] * 8 + ["if (put)", "if ($auto$verilog_backend$1) begin end"])


def written(tmp_path):
    path = tmp_path / "coverage.dat"
    toggle = {"page": "v_toggle/q", "l": "4", "h": "TOP.q"}
    path.write_text(
        "# SystemC::Coverage-3\n"
        + entry(3, page="v_line/q", l="7", o="block", h="TOP.q")
        + entry(0, page="v_branch/q", l="9", o="else", h="TOP.q")
        + entry(2, **toggle, o="level[0]:0->1")
        + entry(0, **toggle, o="level[0]:1->0")
        + entry(0, **toggle, o="level[2]:0->1")
        + entry(0, page="v_branch/q", l="10", o="if", h="TOP.q")
        + entry(1, page="v_user/q", l="1", o="", h="TOP.q")
    )
    return path


def test_points_of_a_file(tmp_path):
    hits = read_points(written(tmp_path), VERILOG)
    assert len(hits) == 5
    assert hits[Point(LINE, "TOP.q", "7 block")] == 3
    assert hits[Point(TOGGLE, "TOP.q", "level[0]:1->0")] == 0


def test_names_are_those_of_the_verilog(tmp_path):
    path = tmp_path / "coverage.dat"
    path.write_text(
        entry(1, page="v_toggle/q", l="1", o="__0245[1]:0->1", h="TOP.a__02eb")
        + entry(1, page="v_toggle/q", l="1", o="o___05Fvalid:0->1", h="TOP.a")
    )
    assert [*read_points(path, VERILOG)] == [
        Point(TOGGLE, "TOP.a.b", "$5[1]:0->1"),
        Point(TOGGLE, "TOP.a", "o__valid:0->1"),
    ]


def test_holes_are_grouped(tmp_path):
    measured = BlockCoverage(
        "queue", read_points(written(tmp_path), VERILOG), {"full": 4, "empty": 0}
    )
    assert measured.shares() == {LINE: (1, 2), TOGGLE: (1, 3), "functional": (1, 2)}
    assert measured.holes() == [(LINE, "TOP.q.9 else", 1), (TOGGLE, "TOP.q.level", 2)]
    assert unexplained([measured]) == 4
    page = as_markdown([measured])
    assert "| queue | 1 of 2 | 1 of 3 | 1 of 2 | 4 |" in page
    assert "| queue | toggle | `TOP.q.level` | 2 |" in page.partition("## Not waived")[2]


def test_waived_holes_are_counted_by_reason():
    points = [Point(TOGGLE, "TOP.q", f"{name}:0->1") for name in ("$12", "$13[0]", "$13[1]")]
    measured = BlockCoverage("queue", Counter({point: 0 for point in points}), {})
    assert unexplained([measured]) == 0
    page = as_markdown([measured])
    assert "| queue | toggle | 2 | 3 | no signal of the source:" in page
    assert "Not waived" not in page
