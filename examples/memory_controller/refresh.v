// Refresh timer: a REFRESH of all banks is due every tREFI, and stays due until it is issued.
module refresh #(
  parameter [15:0] tREFI = 0
) (
  input wire clk,
  input wire rst,
  input wire issued,
  output wire due
);
  reg [15:0] clocks;
  reg [3:0] owed;
  wire again = clocks == tREFI - 1'b1;
  assign due = owed != 0;

  always @(posedge clk)
    if (rst) begin
      clocks <= 0;
      owed <= 0;
    end else begin
      clocks <= again ? 16'd0 : clocks + 1'b1;
      owed <= owed + {3'd0, again} - {3'd0, issued};
    end
endmodule
