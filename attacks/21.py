"""21: programs: names that collide, files outside the folder."""
import sys; sys.path.insert(0, "/work/wt/adv")
import t3
for n in ("total", "dram", "link", "sequential", "energy", "a" * 200, "_", "m", "none"):
    try:
        p = t3.Program("x", (t3.Gemm(n), t3.Collective("rs", "reduce-scatter", of=n)))
        print(repr(n[:20]), "accepted")
    except Exception as e: print(repr(n[:20]), "refused:", str(e)[:90])
