"""What differs from the eager run today: a line of kinds for each owner and way.

Every combination here is expected to fail, and a test fails when it doesn't: whoever mends one takes it off the list.
`python -m tests.engine --today` prints the list anew.
"""

_LINES = """
nnx_in_cell functional_jit: backward_pre backward
nnx jit_gradient: guard
nnx jit_forward: guard
nnx graph: guard
linen jit_gradient: guard
linen jit_forward: guard
linen graph: guard
equinox jit_gradient: guard
equinox jit_forward: guard
equinox graph: guard
haiku jit_gradient: guard
haiku jit_forward: guard
haiku graph: guard
"""

# {(owner, way): kinds}
TODAY = {tuple(place.split()): kinds.split() for place, _, kinds in (line.partition(": ") for line in _LINES.split("\n")[1:-1])}
