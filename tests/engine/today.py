"""What differs from the eager run today: a line of kinds for each owner and way.

Every combination here is expected to fail, and a test fails when it doesn't: whoever mends one takes it off the list.
`python -m tests.engine --today` prints the list anew. docs/limits.md tells it: transformations of nnx run copies, whose Parameters
have no hooks.
"""

_LINES = """
cell nnx: parameter
cell nnx_jit: parameter
cell nnx_hooks_jit: parameter
cell merged: parameter
nnx_in_cell nnx: parameter
nnx_in_cell nnx_jit: parameter
nnx_in_cell nnx_hooks_jit: parameter
nnx_in_cell merged: parameter
linen_in_cell nnx: parameter
linen_in_cell nnx_jit: parameter
linen_in_cell nnx_hooks_jit: parameter
linen_in_cell merged: parameter
equinox_in_cell nnx: parameter
equinox_in_cell nnx_jit: parameter
equinox_in_cell nnx_hooks_jit: parameter
equinox_in_cell merged: parameter
haiku_in_cell nnx: parameter
haiku_in_cell nnx_jit: parameter
haiku_in_cell nnx_hooks_jit: parameter
haiku_in_cell merged: parameter
cell_in_nnx_in_cell nnx: parameter
cell_in_nnx_in_cell nnx_jit: parameter
cell_in_nnx_in_cell nnx_hooks_jit: parameter
cell_in_nnx_in_cell merged: parameter
"""

# {(owner, way): kinds}
TODAY = {tuple(place.split()): kinds.split() for place, _, kinds in (line.partition(": ") for line in _LINES.split("\n")[1:-1])}
