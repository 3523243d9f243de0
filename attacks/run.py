import runpy, sys, time, traceback
for n in sys.argv[1:]:
    print("=====", n, flush=True); t = time.time()
    try: runpy.run_path(n)
    except BaseException as e: print("EXC", type(e).__name__, e); traceback.print_exc(limit=-3)
    print("  [%.0f s]" % (time.time() - t), flush=True)
