import sys
sys.path.insert(0, "/work/wt/adv")
from dataclasses import replace
from collections import Counter, deque
from rtl.interface.encodings import *
from tests.support.context_traffic import KERNELS, TWO, Kernel, Traffic, begin, finish
from tests.support.register_bus import outcome, read, write, refusal, start_write
from tests.support.top_bench import *
from tests.support.top_bench import MAP, PROGRAM
from tests.rtl.test_names import refused, region, errors
