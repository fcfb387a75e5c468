"""What differs from the eager run today: a line of kinds for each owner and way.

Every combination here is expected to fail, and a test fails when it doesn't: whoever mends one takes it off the list.
`python -m tests.engine --today` prints the list anew.
"""

_LINES = """
cell jax: backward_pre backward backward_pre_modify backward_modify
cell jax_jit: backward_pre backward backward_pre_modify backward_modify
cell jax_of_jit: backward_pre backward backward_pre_modify backward_modify
cell hooks_jit: backward_pre backward backward_pre_modify backward_modify
cell nnx: backward_pre backward backward_pre_modify backward_modify
cell nnx_jit: backward_pre backward backward_pre_modify backward_modify
cell nnx_hooks_jit: backward_pre backward backward_pre_modify backward_modify
cell merged: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell jit_gradient: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify
nnx_in_cell jit_forward: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify
nnx_in_cell graph: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify
nnx_in_cell functional_jit: backward_pre backward
nnx_in_cell jax: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell jax_jit: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell jax_of_jit: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell hooks_jit: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell nnx: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell nnx_jit: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell nnx_hooks_jit: backward_pre backward backward_pre_modify backward_modify
nnx_in_cell merged: backward_pre backward backward_pre_modify backward_modify
nnx jit_gradient: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
nnx jit_forward: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
nnx graph: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
linen jit_gradient: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
linen jit_forward: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
linen graph: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
equinox jit_gradient: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
equinox jit_forward: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
equinox graph: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
haiku jit_gradient: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
haiku jit_forward: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
haiku graph: forward_pre forward backward_pre backward forward_pre_modify forward_modify backward_pre_modify backward_modify guard
"""

# {(owner, way): kinds}
TODAY = {tuple(place.split()): kinds.split() for place, _, kinds in (line.partition(": ") for line in _LINES.split("\n")[1:-1])}
