"""``mindspore`` in the processes that a script under ``msjax run`` starts: importing it installs msjax under that name.

`msjax run` puts this folder's parent on PYTHONPATH, so that children of the script (multiprocessing's spawn, subprocess) find
it. It replaces itself by msjax at once.
"""

import os
import sys

del sys.modules["mindspore"]

from msjax.alias import install_as_mindspore  # noqa: E402
from msjax.engine.settings.context import force_mode  # noqa: E402
from msjax.engine.settings.current import GRAPH_MODE, PYNATIVE_MODE  # noqa: E402

install_as_mindspore()
if "MSJAX_FORCED_MODE" in os.environ:
    force_mode(GRAPH_MODE if os.environ["MSJAX_FORCED_MODE"] == "graph" else PYNATIVE_MODE)
