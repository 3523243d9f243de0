"""Each rewriting of the back end's Verilog, on a few lines of it."""

import pytest

from rtl.export.tidy import tidy


def rewritten(body, header=(), name="m"):
    ports = ", ".join(port for port, _ in header)
    return tidy(f"module {name}({ports});\n{body}endmodule\n", {name: header})


def test_ports_stand_in_the_head():
    """The header has the clock first, then the ports in the given order with their comments."""
    text = rewritten(
        "  output [1:0] b;\n  reg [1:0] b = 2'h1;\n  input \\a.x ;\n  wire \\a.x ;\n"
        "  input clk;\n  wire clk;\n  always @(posedge clk)\n    b <= \\a.x ;\n",
        [("a_x", "  // What comes.\n"), ("b", "")],
    )
    assert text == (
        "module m (\n  input  wire clk,\n  // What comes.\n  input  wire a_x,\n"
        "  output reg  [1:0] b = 2'h1\n);\n"
        "  always @(posedge clk)\n    b <= a_x;\nendmodule\n"
    )


def test_wires_that_nothing_reads_are_gone():
    """Wires that only removed wires read are removed, too."""
    text = rewritten(
        "  output o;\n  wire o;\n  wire a;\n  wire b;\n  wire c;\n"
        "  assign a = o;\n  assign b = a;\n  assign c = 1'h1;\n  assign o = c;\n",
        [("o", "")],
    )
    assert text == (
        "module m (\n  output wire o\n);\n"
        "  wire c;\n  assign c = 1'h1;\n  assign o = c;\nendmodule\n"
    )


FIELDS = (
    "  input [7:0] p;\n  wire [7:0] p;\n  output [3:0] o;\n  wire [3:0] o;\n"
    "  wire [3:0] \\p.low ;\n  assign \\p.low  = p[3:0];\n"
)


def test_slices_have_the_names_of_fields():
    text = rewritten(FIELDS + "  assign o = p[3:0];\n", [("p", ""), ("o", "")])
    assert "  assign o = p_low;\n" in text and "  assign p_low = p[3:0];\n" in text


def test_another_slice_stays():
    text = rewritten(FIELDS + "  assign o = p[4:1];\n", [("p", ""), ("o", "")])
    assert "  assign o = p[4:1];\n" in text and "p_low" not in text


def test_what_a_process_assigns_is_read_itself():
    """A read of the process's own variable stays in the process: a net for a field of it would hold
    the previous value."""
    process = "  always @* begin\n    v = 8'h00;\n    v[4] = 1'h1;\n    o = v[3:0];\n  end\n"
    text = rewritten(
        "  output [3:0] o;\n  reg [3:0] o;\n  reg [7:0] v;\n  wire [3:0] \\v.low ;\n"
        f"  assign \\v.low  = v[3:0];\n{process}",
        [("o", "")],
    )
    assert process in text


def test_the_input_of_a_register_is_called_after_it():
    text = rewritten(
        "  reg \\a.b ;\n  wire \\$7 ;\n  assign \\$7  = ~ \\a.b ;\n"
        "  always @(posedge clk)\n    \\a.b  <= \\$7 ;\n"
    )
    assert "assign a_b_next = ~ a_b;" in text and "a_b <= a_b_next;" in text


@pytest.mark.parametrize(
    "line", ['(* enum_value_0 = "A" *)', "(* init = 4'h0 *)", "wire [-1:0] x;"]
)
def test_noise_is_gone(line):
    assert rewritten(f"  {line}\n") == "module m;\nendmodule\n"


def test_names_are_plain_and_no_two_alike():
    text = rewritten(
        "  wire a_b;\n  wire \\a.b ;\n  wire \\$3 ;\n"
        "  n u (\n    .\\x.y (a_b),\n    .z(\\a.b ),\n    .reg(\\$3 )\n  );\n"
    )
    assert "\\" not in text
    assert "  n u (\n    .x_y(a_b),\n    .z(a_b_),\n" in text and "(u_reg_term)" in text


def test_a_net_starts_processes_at_time_zero():
    name = "\\$auto$verilog_backend.cc:2352:dump_module$1 "
    text = rewritten(
        f"  reg {name} = 0;\n  output o;\n  reg o;\n  always @* begin\n"
        f"    if ({name}) begin end\n    o = 1'h0;\n  end\n",
        [("o", "")],
    )
    assert "  wire evaluate_at_start = 1'b0;\n" in text
    assert "    if (evaluate_at_start) begin end\n" in text


def test_a_net_that_only_helps_one_other_is_called_after_it():
    """A net is named after the one that it helps, also through other helpers; several helpers are
    numbered."""
    text = rewritten(
        "  wire \\$1 ;\n  wire \\$2 ;\n  output o;\n  wire o;\n"
        "  assign \\$1  = a & b;\n  assign \\$2  = \\$1  | c;\n  assign o = \\$2  ^ d;\n",
        [("o", "")],
    )
    assert "assign o_term1 = a & b;" in text and "assign o_term2 = o_term1 | c;" in text
    assert "assign o = o_term2 ^ d;" in text


def test_a_net_that_helps_several_keeps_its_number():
    text = rewritten(
        "  wire \\$1 ;\n  output o;\n  wire o;\n  output p;\n  wire p;\n"
        "  assign \\$1  = a & b;\n  assign o = \\$1 ;\n  assign p = ~ \\$1 ;\n",
        [("o", ""), ("p", "")],
    )
    assert "assign n1 = a & b;" in text


def test_terms_of_processes_instances_and_registers():
    text = rewritten(
        "  wire \\$1 ;\n  wire \\$2 ;\n  wire \\$3 ;\n  reg \\$4 ;\n  reg s;\n  reg v;\n"
        "  assign \\$1  = a == b;\n  assign \\$2  = ~ a;\n  assign \\$3  = ~ b;\n"
        "  always @(posedge clk)\n    s <= \\$4 ;\n"
        "  m2 \\u.x  (\n    .clk(clk),\n    .\\in.v (\\$2 )\n  );\n"
        "  always @* begin\n    v = 1'h0;\n    if (\\$3 ) begin\n      v = 1'h1;\n    end\n  end\n"
        "  always @* begin\n    \\$4  = s;\n    if (\\$1 ) begin\n      \\$4  = v;\n    end\n"
        "  end\n"
    )
    assert "assign s_next_term = a == b;" in text
    assert "assign u_x_in_v_term = ~ a;" in text and ".in_v(u_x_in_v_term)" in text
    assert "assign v_term = ~ b;" in text
