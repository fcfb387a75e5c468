"""Programs of compiled functions on disk, found without tracing.

Two files make a program: one under a key of what it is traced from (`compile.description`), which says which Tensors the program takes and
writes, and names the other one, the executable, under a key of the text that was compiled. So code that was changed without effect on that text
finds its executable. What can't be described is traced, and left to jax's own cache.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from msjax import log
from msjax.common.tensor_values import TENSORS
from msjax.core.base.arrays import is_tracer
from msjax.core.hooks.template import Template
from msjax.core.jaxprs.after_run import AfterRun
from msjax.core.jaxprs.observers import Observing
from msjax.engine.compile.description import StateDescription, generators
from msjax.engine.compile.program import Layout, Program, SignatureChanged, aliases, is_input, raw
from msjax.engine.programs.compiler_options import large_options
from msjax.engine.programs.description import Description
from msjax.engine.programs.own_state import OWN_STATE
from msjax.engine.programs.reach import Undescribable
from msjax.engine.programs.signature import OtherCall
from msjax.engine.programs.store import STORE
from msjax.engine.programs.store_key import StoreKey, only_device, store_key, why_no_key

if TYPE_CHECKING:
    from msjax.engine.compile.compiled import Compiled


def _say(text, *args):
    if log.get_level() in ("0", "1"):
        log.info(text, *args)


class StoredCall:
    """The place on disk of one program of a compiled function.

    Args:
        compiled: the function.
        leaves, treedef: of the arguments of a call.

    What became of it is logged at level 1, which GLOG_v=1 shows.

    Attributes:
        key: of what is traced; None if the program is neither stored nor read.
        why: the reason for which the program was traced, or won't be found without tracing; None if there is none.
    """

    def __init__(self, compiled: Compiled, leaves: Sequence[Any], treedef: Any):
        self._compiled, self._leaves, self._treedef = compiled, leaves, treedef
        self._state: StateDescription | None = None
        self._options: dict[str, Any] = {}
        self.key: StoreKey | None = None
        self.why: str | None = None
        if not STORE.folder() or only_device() is None:
            return
        if not compiled.is_stored:
            self._refuse("a gradient is taken through it, or a program from disk did not fit a call")
            return
        self._state = self._describe()
        if self._state is None:
            return
        if aliases(leaves, self._state.tensors):
            self._refuse("one Tensor is passed twice")
            return
        self._options = large_options()
        self.key = self._key(self._state.text)
        self._generators = generators()
        if self.key is None:
            self._refuse(why_no_key(STORE.folder()))

    def _refuse(self, why):
        self.why = why
        _say("%s is traced in each process: %s", self._compiled.name, why)

    def _describe(self):
        compiled = self._compiled
        try:
            return StateDescription([compiled.subject(), compiled.body, compiled.roots], self._leaves, self._treedef)
        except Undescribable as error:
            self._refuse(str(error))
            return None

    def _key(self, text):
        values = [raw(leaf) for leaf in self._leaves if isinstance(raw(leaf), jax.Array)]
        return store_key(Description(f"compiled {text}"), values, self._options, STORE.folder())

    # ---- from disk

    def load(self) -> Program | None:
        """The program from disk; None if it isn't there, or not for what msjax's modules hold here."""
        if self.key is None or self._state is None:
            return None
        try:
            found = STORE.read_index(self.key)
            if found is None:
                self._traced("no program of this description is on disk")
                return None
            other = OWN_STATE.other_than(found["modules"])
            if other is not None:
                self._traced(other)
                return None
            program = self._made(found, self._state.tensors)
        except (KeyError, IndexError, TypeError, ValueError):
            STORE.discard(self.key)
            program = None
        if program is None:
            self._traced("its file on disk is missing or damaged")
        else:
            _say("%s was found on disk", self._compiled.name)
        return program

    def _traced(self, why):
        self.why = why
        _say("%s is traced: %s", self._compiled.name, why)

    def _made(self, found, tensors):
        variables = [tensors[i] for i in found["variables"]]
        inputs = [i for i, leaf in enumerate(self._leaves) if is_input(leaf)]
        values = [*[v._value for v in variables], *[raw(self._leaves[i]) for i in inputs]]
        key = self._key_of_text(found["executable"], values)
        loaded = None if key is None else STORE.load(key, values, None)
        if key is None or loaded is None or loaded[1] is None:
            return None
        not_yet: Any = None
        layout = Layout()
        layout.order, layout.sources = found["order"], found["sources"]
        template = Template.of_data(found["result"], TENSORS)
        holes = [layout.order[i] for i in range(found["holes"])]
        program = Program(
            variables=variables,
            writes=[(variables[i], n) for i, n in found["writes"]],
            written_arguments=[(i, n) for i, n in found["written"]],
            attributes=[],
            after=lambda: AfterRun([], template, holes),
            arguments=self._treedef,
            inputs=None if self._treedef is None else inputs,
            aliases=(),
            jitted=not_yet,
            layout=layout,
            donated=tuple(found["donated"]),
            stops_gradients=found["stops"],
            may_be_rejected=False,
            draws=[],
        )
        program.jitted = _LoadedCall(program, self._compiled, key, *loaded)
        return program

    def _key_of_text(self, name, values):
        return store_key(Description(f"executable {name}"), values, self._options, STORE.folder())

    # ---- to disk

    def keep(self, program: Program, observing: Observing, result: Template, holes: int) -> None:
        """Have a program stored when it has run for the first time, if it may be found without tracing.

        Args:
            observing: what it was made of.
            result, holes: what it returns, and how many of its values are in that.
        """
        if self.key is None or self._state is None:
            return
        data, number = result.as_data(), {id(tensor): i for i, tensor in enumerate(self._state.tensors)}
        refused = {
            "it returns more than Tensors and plain values": data is None,
            "it draws random numbers": program.draws,
            "it makes Tensors attributes of cells": program.attributes,
            "a tool may reject its runs": program.may_be_rejected,
            "one Tensor is passed twice": program.aliases,
            "it uses Tensors that only tracing finds": not all(id(v) in number for v in program.variables),
            "it belongs to several processes": not hasattr(program.jitted, "lower"),
        }
        for why, holds in refused.items():
            if holds:
                self._refuse(why)
                return
        place = {id(v): i for i, v in enumerate(program.variables)}
        index = {
            "variables": [number[id(v)] for v in program.variables],
            "writes": [[place[id(v)], n] for v, n in program.writes],
            "written": [[i, n] for i, n in program.written_arguments],
            "result": data,
            "holes": holes,
            "donated": list(program.donated),
            "stops": program.stops_gradients,
        }
        program.jitted = _FirstCall(program, program.jitted, self, index, observing)

    def compile_and_call(
        self, program: Program, jitted: Any, index: dict[str, Any], observing: Observing, values: Sequence[Any]
    ) -> tuple[Any, Any]:
        """(what the program is called with from now on, its outputs for these values)."""
        lowered = jitted.lower(*values)
        text = lowered.as_text()
        # The trace is over: has it changed anything that a process would miss that leaves it out?
        name = hashlib.sha256(text.encode()).hexdigest()
        refused = self._refused_after(text, observing)
        key = None if refused else self._key_of_text(name, values)
        modules = None if key is None else OWN_STATE.now()
        if key is None or modules is None or self.key is None:
            self._refuse(refused or OWN_STATE.why() or why_no_key(STORE.folder()))
            return jitted, jitted(*values)
        index = {
            **index,
            "order": program.layout.order,
            "sources": program.layout.sources,
            "executable": name,
            "modules": modules,
        }
        STORE.keep_index(self.key, index)
        loaded = STORE.load(key, values, None)
        if loaded is not None and loaded[1] is not None:
            call = _LoadedCall(program, self._compiled, key, *loaded)
            return call, call(*values)
        with STORE.compiling(key, _Lowered(lowered), values):
            return jitted, jitted(*values)

    def _refused_after(self, text, observing):
        """Why a program that was traced is not to be found without tracing; None if it is."""
        if observing.events:
            return "it has hooks, or prints"
        if generators() != self._generators:
            return "its trace draws from a generator of Python or numpy"
        if "custom_call" in text:
            return "it calls a library"
        state = self._describe()
        if state is None:
            return self.why
        if self._state is None or state.text != self._state.text or self._key(state.text) != self.key:
            return "its trace changes something that it is traced from"
        return None


class _Lowered:
    """A lowered program as `ProgramStore.compiling` takes it."""

    __wrapped__ = types.SimpleNamespace(fn=None, metadata=())

    def __init__(self, lowered: Any):
        self.lower = lambda *_values: lowered


class _FirstCall:
    """The first call of a program that is to be stored."""

    def __init__(self, program: Program, jitted: Any, stored: StoredCall, index: dict[str, Any], observing: Observing):
        self._program, self._jitted, self._stored, self._rest = program, jitted, stored, (index, observing)
        self.__name__ = jitted.__name__

    def __call__(self, *values: Any) -> Any:
        if any(is_tracer(value) for value in values):
            return self._jitted(*values)
        program, stored = self._program, self._stored
        jitted, outs = stored.compile_and_call(program, self._jitted, *self._rest, values)
        if program.jitted is self:
            program.jitted = jitted
        return outs


class _LoadedCall:
    """The first call of a program from disk. Whatever goes wrong with it, the function is traced."""

    def __init__(self, program: Program, compiled: Compiled, key: StoreKey, call: Any, executable: Any):
        self._program, self._compiled, self._key, self._call, self._loaded = program, compiled, key, call, executable
        self.__name__ = compiled.name

    def __call__(self, *values: Any) -> Any:
        program, executable = self._program, self._loaded
        try:
            self._key.check(values)
            outs = self._call(*values)
        except Exception as error:
            if not isinstance(error, OtherCall):
                STORE.discard(self._key)
            self._compiled.is_stored = False
            raise SignatureChanged from error
        if not executable.checked:
            STORE.unusable = True
        program.jitted = _Checked(executable.fast_path() or self._call, self._compiled)
        return list(outs)


class _Checked:
    """A program from disk that refuses other calls than its own: then the function is traced."""

    __slots__ = ("_call", "_compiled")

    def __init__(self, call: Any, compiled: Compiled):
        self._call, self._compiled = call, compiled

    def __call__(self, *values: Any) -> Any:
        try:
            return self._call(*values)
        except OtherCall as error:
            self._compiled.is_stored = False
            raise SignatureChanged from error
