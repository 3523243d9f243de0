"""23: driver over a mapping, context 5 of hardware with two: SLVERR and data 0 are lost, every call succeeds and wait() returns."""
import sys; sys.path.insert(0, "/work/wt/adv")
from driver.python import *
class Mapping:      # as the RTL answers (18.py): page that does not exist: write SLVERR, read SLVERR with data 0
    def write(self, a, w): return True
    def read(self, a): return 0
c = Context(Mapping(), 5)
c.assign(3); c.reset_epochs(); c.region(0, 0, 4096); c.launch(); c.wait(); c.wait_idle.__doc__
print("assign, reset_epochs, region, launch, wait: no error")
