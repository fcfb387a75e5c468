"""The door between the two wings: what the side of Tensors and Cells uses of the hooks for JAX.

The state of a thread and counters of the process; tables of hooks and handles; the values that hooks get, frames and kinds of hooks; how
calls are delivered: events as outputs of programs, callbacks in batches, the worker that calls hooks; and, for ``ms.jit``, programs whose
events have become outputs. Beside these 23 names, `msjax.core.base` is free to use but for its state: checks of arguments, messages, lazy
names, types, and what jax and flax do not promise.
"""

from msjax.core.base.state import (
    ACTIVITY as ACTIVITY,
    STATE as STATE,
    VERSION as VERSION,
    ProgramUnderWay as ProgramUnderWay,
    State as State,
)
from msjax.core.hooks.batching import CallbackBatch as CallbackBatch, CallsAsOutputs as CallsAsOutputs
from msjax.core.hooks.delivery import Frame as Frame, HookNeedsValue as HookNeedsValue
from msjax.core.hooks.events import Event as Event, Slot as Slot, Template as Template
from msjax.core.hooks.hook import Hook as Hook, HookSite as HookSite, HookTable as HookTable, RemovableHandle as RemovableHandle
from msjax.core.hooks.kinds import HOOK_SETTINGS as HOOK_SETTINGS, HookKind as HookKind
from msjax.core.hooks.protocol import CallFrame as CallFrame
from msjax.core.hooks.values import Values as Values
from msjax.core.hooks.worker import WORKER as WORKER
from msjax.core.jaxprs.observers import AfterRun as AfterRun, Observing as Observing
