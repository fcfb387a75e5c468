"""What is going on in this thread: which cells run, and whether gradients are recorded."""

import threading


class Scope:
    """One run of a gradient function, or the program around all of them.

    Attributes:
        depth: 0 for the program itself, then one more a nested gradient function.
        parent: the scope around this one; None for the outermost.
        root: the outermost gradient function, or a function that is being compiled; the program for itself. What was
            recorded under another root counts as a plain value.
        open: False once the gradient function has returned; what it recorded counts no longer.
        nested: True once something here depends on what an outer scope differentiates, so that
            this scope's backward sweep has to be recorded too.
    """

    __slots__ = ("depth", "parent", "root", "open", "nested")

    def __init__(self, parent: "Scope | None"):
        self.parent = parent
        self.root = self if parent is None or parent is ROOT else parent.root
        self.depth = 0 if parent is None else parent.depth + 1
        self.open = True
        self.nested = False


ROOT = Scope(None)

# Held while a program is traced: variables hold values that are not known yet, which other threads must not see.
LOCK = threading.RLock()


class State(threading.local):
    """Per-thread state.

    Attributes:
        scope: the innermost gradient function that runs, ROOT outside of all.
        recording: False under ``ms.no_grad()`` and while hooks run in a backward sweep.
        cells: the cells whose call is under way, outermost first.
        saving: what becomes of the values that recorded operators keep for their backward (msjax.autograd.saved), or
            None: they are kept as they are.
        cast: converts the operands of operators while a cell set with `to_float` runs (msjax.autograd.precision), or None.
        trace: the program that msjax is compiling (msjax.compile.trace.Trace), or None.
        hooks_run: True while this thread runs the hooks of programs under someone else's jax.jit.
        foreign: True while a functionalized network runs under whatever transformation its caller uses.
    """

    def __init__(self):
        self.scope = ROOT
        self.recording = True
        self.cells = []
        self.saving = None
        self.cast = None
        self.trace = None
        self.functional = False
        self.hooks_run = False


STATE = State()


class Version:
    """Counts the changes of anything that compiled programs were made for: members, settings, hooks.

    A compiled function whose last look was at the present count need not look again.
    """

    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


VERSION = Version()


class Compiler:
    """What msjax.compile offers to those below it, put here when it is imported.

    Attributes:
        whole: in graph mode, runs a gradient function as one program; see msjax.compile.graph_mode.
        call_cell: in graph mode, runs the call of a cell as one program.
    """

    whole = None
    call_cell = None


COMPILER = Compiler()
