"""The proven widths of check bits are the widths that the hardware has."""

from dataclasses import replace

import pytest
from amaranth.hdl import Fragment, Shape

from rtl.lib.secded import SecdedCheck
from rtl.top import T3
from t3.silicon.blocks import REFERENCE
from verification.proofs.secded import WIDTHS, WIDTHS_OF_ONE_CONTEXT


@pytest.mark.parametrize(
    ("contexts", "proven"),
    [
        (REFERENCE.contexts, WIDTHS),
        pytest.param(1, WIDTHS_OF_ONE_CONTEXT, marks=pytest.mark.verify),
    ],
)
def test_every_width_of_the_reference_hardware(monkeypatch, contexts, proven):
    widths = set()
    made = SecdedCheck.__init__

    def watched(self, shape):
        widths.add(Shape.cast(shape).width)
        made(self, shape)

    monkeypatch.setattr(SecdedCheck, "__init__", watched)
    Fragment.get(T3(replace(REFERENCE, channels=1, contexts=contexts)), None)
    assert widths == set(proven)
