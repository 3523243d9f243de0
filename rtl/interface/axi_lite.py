"""AXI4-Lite with 32-bit data."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AxiLiteSignature"]


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite port with the directions of the manager.

    Parameters
    ----------
    address_bits : int
        Width of ``awaddr`` and ``araddr``.
    """

    def __init__(self, *, address_bits: int = 16):
        if not isinstance(address_bits, int):
            raise TypeError(f"Address width must be an integer, not {address_bits!r}")
        if not 3 <= address_bits <= 64:
            raise ValueError(f"Address width must be between 3 and 64, not {address_bits!r}")
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
