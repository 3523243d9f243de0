"""20: driver: a second program attaches to a context with ranges of the first; reduce_scatter leaves the old range enabled."""
import sys; sys.path.insert(0, "/work/wt/adv")
from driver.python import *
from rtl.registers.map import load
M = load()
ring3 = Ring(workgroups=6, first_workgroup=2, leaving=2, staying=2, credit_window=4, command_window=8)
ring2 = Ring(workgroups=4, first_workgroup=0, leaving=0, staying=2, credit_window=2, command_window=8)
tile = Transfer(rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1))
def ranges(writes):
    state, st = {}, {}
    for a, w in writes:
        for n in ("RANGE_DISPATCH_INDICES", "RANGE_ACTION", "RANGE_COMMIT"):
            if a == M[n].address_in(0):
                f = M[n].unpack(w)
                if n == "RANGE_COMMIT":
                    state[f["index"]] = (f["enable"], dict(st))
                else: st |= f
    return {i: s for i, s in state.items() if s[0]}
bus = Recorder()
Context(bus, 0).reduce_scatter(ring3, tile)
Context(bus, 0).reduce_scatter(ring2, tile)     # another program, or the same one after a restart
for i, s in ranges(bus.writes).items(): print(i, s)
for bad in (lambda c: c.timeout(1 << 40), lambda c: c.region(0, 1, 2), lambda c: c.region(-1, 0, 32), lambda c: c.region(0, True, 64), lambda c: c.assign(1.5), lambda c: c.accept(stores=[32]), lambda c: c.accept(stores=[-1]), lambda c: c.remote_map(-1, 2), lambda c: c.remote_map(0, 1 << 17), lambda c: c.copy(-32, tile), lambda c: c.assign(3, ways=0), lambda c: c.window(workgroups=4, tracked=(5, 1)), lambda c: c.wait(polls=0), lambda c: c.unmap(10**6), lambda c: c.command(0, tile, region=300), lambda c: c.enable_interrupts(foo=True)):
    r = Recorder()
    try: bad(Context(r, 0)); print("accepted", len(r.writes), "writes")
    except Exception as e: print(type(e).__name__, str(e)[:80], len(r.writes), "writes")
for n in (-1, 8, 1.0, True):
    try: Context(Recorder(), n); print("context", n, "accepted")
    except Exception as e: print("context", n, type(e).__name__)
