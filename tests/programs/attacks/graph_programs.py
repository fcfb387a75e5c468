"""Attacks on programs of graph mode and `ms.jit`: what their trace reads changes between runs, or tracing does more than compute.

Each has a name, the text that changes something, and what code of the network it needs besides. The network runs without and with the change,
in turns, with programs on disk.
"""

NETWORK = """\
import collections, dataclasses, enum, functools, math, os, random, sys, time
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_seed(1)
FACTOR, TABLE, ARRAY = 1.5, {"a": 2.0, "b": [1, 2]}, np.arange(3, dtype=np.float32)
COUNTS = []

class Kind(enum.Enum):
    A = 1
    B = 2

@dataclasses.dataclass
class Config:
    scale: float = 2.0
    kind: Kind = Kind.A

class Slots:
    __slots__ = ("by",)
    def __init__(self):
        self.by = 0.5

def helper(x, by=1.0, *, more=0.0):
    return x * by + more

def closed(n):
    def inner(x):
        return x + n
    return inner

added, partly, config, slots = closed(1.0), functools.partial(helper, by=2.0), Config(), Slots()

class Base(nn.Cell):
    shift = 0.25
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(6, 4, weight_init="ones")
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Dense(4, 3, weight_init="ones")
        self.factor, self.items = 1.0, [1.0, 2.0]
        self.relu = ops.ReLU()
        self.name = "tanh"
    def scaled(self, x):
        return x * self.factor
    @property
    def gain(self):
        return 1.0

class Net(Base):
    def extra(self, x):
        return x
    def construct(self, x):
        y = self.relu(self.norm(self.first(x)))
        y = self.scaled(self.last(y)) * FACTOR + TABLE["a"] * TABLE["b"][1] + self.items[1] + self.shift + self.gain
        y = partly(added(helper(y))) + config.scale * (config.kind.value if config.kind is Kind.A else 5.0) + slots.by
        y = y + ops.reduce_sum(ops.tanh(x)) + ms.Tensor(ARRAY)
        return self.extra(getattr(ops, self.name)(y * 0.02))

"""

COMPUTED = """
net = Net().set_train()
CHANGE()
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
x, y = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)), Tensor(np.ones((2, 3), np.float32))
for _ in range(2):
    show("loss", step(x, y).asnumpy())
show("net", net(x).asnumpy(), *[p.asnumpy() for p in net.get_parameters()])
f = ms.jit(lambda x, n: helper(x, n) + FACTOR)
show("jit", f(x, 2.0).asnumpy(), f(x, 3.0).asnumpy())
show("gradient", ms.grad(lambda x: f(x, 2.0).sum())(x).asnumpy())
show("random", ops.standard_normal((2,)).asnumpy(), np.random.rand(2))
print(COUNTS, net.factor)
"""

_READ = {
    "an attribute": "net.factor = 2.0",
    "an item of a list": "net.items[1] = 3.0",
    "a list of another length": "net.items.insert(0, 7.0)",
    "an attribute of the class": "Net.shift = 0.75",
    "an attribute of the class it comes from": "Base.shift = 0.75",
    "a global": "global FACTOR; FACTOR = 2.5",
    "an item of a dict": 'TABLE["a"] = 4.0',
    "an item within": 'TABLE["b"][1] = 4.0',
    "an array": "ARRAY[1] = 9",
    "another array": "global ARRAY; ARRAY = ARRAY.astype(np.float16)",
    "a helper": "global helper; helper = lambda x, by=1.0, *, more=0.0: x * by * 3",
    "a default": "helper.__defaults__ = (3.0,)",
    "a default by keyword": 'helper.__kwdefaults__["more"] = 3.0',
    "the code of a function": "helper.__code__ = (lambda x, by, more=0.0: x * by * 4 + more).__code__",
    "a closure": "global added; added = closed(5.0)",
    "the variable of a closure": "added.__closure__[0].cell_contents = 5.0",
    "a partial function": "global partly; partly = functools.partial(helper, by=3.0)",
    "a field": "config.scale = 3.0",
    "a member": "config.kind = Kind.B",
    "the value of a member": "Kind.A._value_ = 4",
    "a slot": "slots.by = 1.5",
    "a method": "Net.extra = lambda self, x: x * 2",
    "a method of the class it comes from": "Base.scaled = lambda self, x: x * 3",
    "a method of the cell alone": "net.extra = lambda x: x * 2",
    "a property": "Base.gain = property(lambda self: 4.0)",
    "a name by which code finds a function": 'net.name = "sigmoid"',
    "a cell": "net.last = nn.Dense(4, 3, weight_init='zeros')",
    "a setting of a cell": "net.relu = ops.ReLU6()",
    "a shared weight": "net.norm.beta = net.norm.gamma",
    "a weight that is not trained": "net.first.weight.requires_grad = False",
    "evaluation": "net.set_train(False)",
    "half precision": "net.to_float(ms.float16)",
    "recomputation": "net.first.recompute()",
    "a layer's code": "nn.Dense.construct = lambda self, x: ops.matmul(x, self.weight.T) * 2",
    "a layer's code by that of another": "nn.BatchNorm1d.construct = nn.Identity.construct",
    "an operator": "ops.tanh = ops.sin",
    "an operator where it is defined": "from msjax.ops.function.math_func import elementary; elementary.tanh = ops.tanh = ops.sin",
    "a primitive's call": "ops.ReLU.__call__ = lambda self, x: x * 2",
    "a function of jax": "jnp.tanh = jnp.sin; jax.lax.tanh = jax.lax.sin",
    "a loss": "nn.MSELoss.construct = lambda self, a, b: ops.reduce_sum((a - b) ** 2)",
    "a hook that changes the output": "net.first.register_forward_hook(lambda cell, inputs, output: output * 2)",
    "a hook that changes a gradient": "net.first.register_backward_hook(lambda cell, gi, go: (gi[0] * 2,))",
    "a hook that looks on": "net.first.register_forward_hook(lambda cell, inputs, output: COUNTS.append(float(output.sum())))",
    "a hook of a weight": "net.first.weight.register_hook(lambda grad: grad * 2)",
    "the precision of products": 'jax.config.update("jax_default_matmul_precision", "bfloat16")',
    "types of 64 bits": 'jax.config.update("jax_enable_x64", False)',
    "the dialect": 'ms.set_context(hook_dialect="mindspore-1")',
    "another seed": "ms.set_seed(5)",
}
_EFFECTS = {
    "counting": "self.factor = self.factor + 1.0",
    "a list that grows": "COUNTS.append(x.shape)",
    "a global that is written": "global FACTOR; FACTOR = FACTOR + 1.0",
    "numpy's random numbers": "x = x * float(np.random.rand())",
    "Python's random numbers": "x = x * random.random()",
    "numbers of its generator": "x = x * RNG.random()",
    "a dropout": "x = ops.dropout(x, 0.5)",
    "random numbers": "x = x + ops.standard_normal((2, 3))",
    "the environment": "x = x * float(os.environ['MSJAX_FACTOR'])",
    "a file": "x = x * float(open(FILE).read())",
    "an import": "import factor_of; x = x * factor_of.FACTOR",
    "a printed text": "print(x.shape)",
    "an assignment to a weight": "ops.assign(self.last.bias, self.last.bias + 1.0)",
    "a new attribute": "self.seen = x",
    "a warning": "import warnings; warnings.warn('seen')",
}


def _text(change="pass", line="return x", beginning=""):
    names = "global " in change and change.split(";")[0].removeprefix("global ")
    rest = change.split(";", 1)[1].strip() if names else change
    globals_ = f"    global {names}\n" if names else ""
    body = "".join(f"        {part.strip()}\n" for part in line.split(";"))
    network = (
        NETWORK.replace("        return x\n    def construct", f"{body}        return x\n    def construct")
        if line != "return x"
        else NETWORK
    )
    return f"{beginning}\n{network}\ndef CHANGE():\n{globals_}    {rest}\n{COMPUTED}"


def _of_state(change):
    def attack(case):
        plain, other = _text(), _text(change)
        for text in (plain, other, plain):
            case.run(text)

    return attack


def _of_effect(line):
    def attack(case):
        (case.folder / "number").write_text("2.0")
        for value in ("2.0", "3.0"):
            # The file and the environment change, and the text doesn't; what the generators begin with is seeded in it.
            (case.folder / "number").write_text(value)
            (case.folder / "factor_of.py").write_text(f"FACTOR = {value}\n")
            beginning = (
                f"import os, sys, numpy as np, random\nnp.random.seed(int(float(os.environ['MSJAX_FACTOR'])))\n"
                f"random.seed(3 * int(float(os.environ['MSJAX_FACTOR'])))\nRNG = np.random.default_rng(int(float(os.environ['MSJAX_FACTOR'])))\n"
                f"FILE = {str(case.folder / 'number')!r}\nsys.path.insert(0, {str(case.folder)!r})\n"
            )
            case.known.clear()
            case.compare_new(_text(line=line, beginning=beginning), {"MSJAX_FACTOR": value})

    return attack


GRAPH = {
    **{f"graph: {name}": _of_state(change) for name, change in _READ.items()},
    **{f"graph, effects: {name}": _of_effect(line) for name, line in _EFFECTS.items()},
}
