"""A call of a compiled function as a node of the tape, for a gradient that is recorded around it in PyNative mode.

It is an operator like others: its forward program also returns what the backward pass needs, and the backward pass is a program of that. The user's code is
traced on a tape of its own (`msjax.engine.autograd.traced_tape`): what its nodes keep are the residuals, and the backward program goes
back over it. Outside of gradient functions, where `backward()` may follow or not, the plain program runs, and the forward pass runs once more
where `backward()` is called. A backward pass that can't be traced goes back over the same tape in PyNative mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msjax.common.run_state import LOCK, SEQUENCE, Edge, Grads, Need, Node
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.traced_tape import Held
from msjax.engine.compile.attempt import Body
from msjax.engine.compile.environment import objects_among
from msjax.engine.compile.program import VALUE, Program, is_argument, raw
from msjax.engine.compile.trace import RunRejected

if TYPE_CHECKING:
    from msjax.engine.compile.compiled import Compiled


class CallNode(Node):
    """The node of one call.

    Args:
        compiled: the function.
        program: the one of the call.
        leaves: of its arguments.

    Attributes:
        kept: what the program's tape keeps of the call; None if it has no tape: then the node keeps the values of its inputs.
    """

    __slots__ = ("_name", "compiled", "program", "leaves", "values", "kept")

    def __init__(self, base: Any, edges: list[Edge | None], compiled: Compiled, program: Program, leaves: Sequence[Any]):
        # Node.__init__, written out: the call of a compiled network is to cost little.
        self.seq: int = next(SEQUENCE)
        self.base = base
        self.edges: Any = edges
        self.nout = 0
        self.hooks = self.also_run = None
        self.kept: Any = None
        self.values: Any = None
        self._name = compiled.name
        self.compiled: Any = compiled
        self.program: Any = program
        self.leaves: Any = leaves
        if program.tape is None:
            # The values now: arguments may be written to before the backward pass.
            self.values = [*map(VALUE, program.variables)], [*map(raw, leaves)]

    @property
    def name(self) -> str:
        return self._name

    def place(self, tensors: Sequence[Tensor]) -> None:
        """Make some of the results, the next ones, outputs of the node."""
        tape = self.program.tape
        for tensor in tensors:
            carries, tensor._stopped = (True, False) if tape is None else tape.carries[self.nout]
            if carries:
                tensor._node, tensor._oidx = self, self.nout
            self.nout += 1

    def pull(self, cts: list[JaxArray | None], need: Need) -> Grads:
        compiled, program = self.compiled, self.program
        if program.tape is None:
            program, self.kept = self._run_forward()
        given = tuple([ct is not None for ct in cts])
        values = [*self.kept, *(ct for ct in cts if ct is not None)]
        body = Body(lambda _, args, _kwargs: _go_back(program, args, given), None, f"gradient of {compiled.name}", again=True)
        back = compiled.derived(program, given, body, values, None, objects_among(self.leaves))

        def in_pynative_mode():
            return _go_back(program, values, given)

        if back.eager:
            result = in_pynative_mode()
            compiled.tell(back)
        else:
            try:
                outs = back.outputs([*map(VALUE, back.variables), *values])  # the first run makes `finish`
                result = back.finish(outs)
            except RunRejected as rejected:
                result = rejected.again(in_pynative_mode)
        compiled.after_run()
        grads = [None if grad is None else grad._value for grad in result]
        if program is self.program:
            return grads
        # The other program may have other variables.
        by_variable = dict(zip(map(id, program.variables), grads))
        return [*(by_variable.get(id(v)) for v in self.program.variables), *grads[len(program.variables) :]]

    def _run_forward(self):
        """(the program of the call with its tape, what that keeps)."""
        earlier, (variables, given) = self.program, self.values
        leaves = [wrap(value) if is_argument(leaf) else leaf for leaf, value in zip(self.leaves, given)]
        program = self.compiled.with_tape(earlier, self.edges, leaves)
        held = dict(zip(map(id, earlier.variables), variables))
        return program, program.kept_of([held.get(id(v), v._value) for v in program.variables], leaves)

    def pull_recorded(self, cts: list[Any], need: Need) -> Any:
        raise NotImplementedError(
            f"A second derivative of {self.name}, which is compiled, is not offered here; compile the whole of it, "
            "gradient functions included, or run it in PyNative mode."
        )

    def release(self) -> None:
        self.edges = self.compiled = self.program = self.leaves = self.values = self.kept = None


def _go_back(program, values, given):
    """The gradients that come back over the tape, zeros where none arrives; None for what has none."""
    n = len(program.kept)
    tape, rest = program.tape, iter(values[n:])
    with LOCK, Held(program.variables):  # a node may keep a variable
        tape.put_back(values[:n])
        try:
            found = tape.run_backward([next(rest) if there else None for there in given])
        finally:
            tape.forget_values()
    arrived = iter([tape.zeros(i) if grad is None else grad for i, grad in enumerate(found)])
    return tuple([next(arrived) if wanted else None for wanted in program.wanted])
