"""Start a script that sets no seed with one: ``python start.py SEED SCRIPT ARGUMENTS``; the script itself is as it is."""

import os
import runpy
import sys

import mindspore

if __name__ == "__main__":
    seed, script = int(sys.argv[1]), sys.argv[2]
    del sys.argv[:2]
    sys.path[0] = os.path.dirname(script)
    mindspore.set_seed(seed)
    runpy.run_path(script, run_name="__main__")
