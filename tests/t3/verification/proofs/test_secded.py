"""The widths that are proven are those that there are."""

from amaranth.hdl import Fragment, Shape

from rtl.lib.secded import SecdedCheck
from rtl.parameters import T3Parameters
from rtl.top import T3
from t3.verification.proofs.secded import WIDTHS


def test_every_width_of_the_reference_hardware(monkeypatch):
    widths = set()
    made = SecdedCheck.__init__

    def watched(self, shape):
        widths.add(Shape.cast(shape).width)
        made(self, shape)

    monkeypatch.setattr(SecdedCheck, "__init__", watched)
    Fragment.get(T3(T3Parameters(contexts=1)), None)
    assert widths == set(WIDTHS)
