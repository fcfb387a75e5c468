"""Attacks within a script: functions, classes, rules and settings that are replaced before it computes, while it does, or between runs.

Each has a name, the text that replaces something, and what is computed then.
"""

_OWN = """\
import builtins, functools, math, unittest.mock
from jax.interpreters import ad, batching, mlir
from msjax.engine.autograd import residuals
from msjax.ops.dispatch import promotion
from msjax.ops.function.nn_func import activations

def twice(fn):
    return lambda *args, **kwargs: fn(*args, **kwargs) * 2

class Called:
    def __init__(self, fn):
        self.fn = fn
    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs)
"""

_TANH, _SIGN, _SWISH, _FAST, _LOG, _GELU = (
    'of("tanh")', 'of("softsign")', 'of("hardswish")', 'of("fast_gelu")', 'of("log", x=X * X + 1)', 'of("gelu", "tanh")',
)  # fmt: skip

# Functions that kernels call.
_FUNCTIONS = {
    "a lambda": ("jax.nn.sigmoid = lambda x: x * 2", _FAST),
    "another function of jax": ("jax.nn.sigmoid = jax.nn.relu", _FAST),
    "another one of jnp": ("jnp.abs = jnp.square", _SIGN),
    "a function of numpy": ("jnp.abs = np.abs", _SIGN),
    "a builtin function": ("jnp.abs = abs", _SIGN),
    "a wrapper": ("jnp.abs = twice(jnp.abs)", _SIGN),
    "a wrapper with the name of the wrapped": ("jnp.abs = functools.wraps(jnp.abs)(twice(jnp.abs))", _SIGN),
    "jax.jit of a wrapper": ("jnp.abs = jax.jit(functools.wraps(jnp.abs)(twice(jnp.abs)))", _SIGN),
    "a partial function": ("jnp.abs = functools.partial(twice(jnp.abs))", _SIGN),
    "a partial function of jax's": ("jnp.abs = functools.partial(jnp.maximum, 0.5)", _SIGN),
    "a mock": ("jnp.abs = unittest.mock.MagicMock(side_effect=twice(jnp.abs))", _SIGN),
    "an object": ("jnp.abs = Called(twice(jnp.abs))", _SIGN),
    "a method": ("jnp.abs = Called(twice(jnp.abs)).__call__", _SIGN),
    "a class": ("jnp.abs = type('Abs', (), {'__new__': lambda cls, x: jnp.square(x)})", _SIGN),
    "a function with its own derivative": (
        "f = jax.custom_jvp(jnp.square); f.defjvps(lambda t, out, x: t * 3); jnp.abs = f",
        _SIGN,
    ),
    "a function made by exec": ("exec('def f(x): return x * 3', vars(jnp)); jnp.abs = jnp.f", _SIGN),
    "a ufunc": ("jnp.abs = jnp.frompyfunc(lambda x: x * 3, 1, 1)", _SIGN),
    "jax.lax's": ("jax.lax.select = lambda c, a, b: a + b", _SWISH),
    "jax.nn's gelu": ("jax.nn.gelu = lambda x, approximate: x * 5", _GELU),
    "a helper of msjax": ("activations._choose = lambda c, n, x: n + 0 * x", _SWISH),
    "a helper two calls away": ("promotion.kind_of = lambda dtype: 'f'", _LOG + "\n" + _SWISH),
    "the kernel of an operator": ("ops.softsign.op.fn = lambda x: x * 7", _SIGN),
    "a module": ("activations.jnp = unittest.mock.MagicMock(wraps=jnp, abs=jnp.square)", _SIGN),
    "a module by a namespace": (
        "import types; activations.jnp = types.SimpleNamespace(**{**vars(jnp), 'abs': jnp.square})",
        _SIGN,
    ),
}
# Parts of functions, classes, tables and rules.
_PARTS = {
    "code": ("activations._choose.__code__ = (lambda condition, number, x: x * 3).__code__", _SWISH),
    "the code of a kernel": ("activations._softsign.__code__ = (lambda x: x * 3).__code__", _SIGN),
    "the code of a function of jax": (
        "jax.nn.relu.__wrapped__.__code__; jnp.abs.__wrapped__.__code__ = (lambda x: x * 3).__code__",
        _SIGN,
    ),
    "a hand-written gradient": ("activations._softsign.gradient = lambda slots, x: (x, lambda ct: (ct * 9,))", _SIGN),
    "the gradient of another": (
        "activations._relu_of_operand.gradient = lambda slots, x: (x, jax.tree_util.Partial(lambda ct: (ct,)))",
        'of("relu")',
    ),
    "a method": ("residuals.Bound.__call__ = lambda self, *operands: self.fn(*operands, *self.static) * 2", _GELU),
    "a method of the machinery": (
        "residuals.VJP.gradients = lambda self, cts, need, vjp: [jnp.zeros_like(ct) for ct in cts]",
        _LOG,
    ),
    "a derivative": (
        "rule = ad.primitive_jvps[jax.lax.tanh_p]\n"
        "ad.primitive_jvps[jax.lax.tanh_p] = lambda p, t, **k: (rule(p, t, **k)[0], rule(p, t, **k)[1] * 2)",
        _TANH,
    ),
    "a derivative by its door": ("ad.defjvp(jax.lax.tanh_p, lambda t, x, **k: t * 3)", _TANH),
    "a lowering": ("mlir.register_lowering(jax.lax.tanh_p, mlir.lower_fun(lambda x, **k: jax.lax.sin(x), False))", _TANH),
    "a lowering for CPUs": (
        "mlir.register_lowering(jax.lax.tanh_p, mlir.lower_fun(lambda x, **k: jax.lax.sin(x), False), 'cpu')",
        _TANH,
    ),
    "a derivative by another": ("ad.primitive_jvps[jax.lax.tanh_p] = ad.primitive_jvps[jax.lax.sin_p]", _TANH),
    "a lowering by another": ("mlir.register_lowering(jax.lax.tanh_p, mlir._lowerings[jax.lax.sin_p].rule)", _TANH),
    "a transposition": ("ad.deflinear2(jax.lax.neg_p, lambda ct, x: [ct * 5])", 'of("neg")'),
    "a primitive's call": ("jax.lax.tanh_p.bind = lambda x, **k: jax.lax.sin_p.bind(x, **k)", _TANH),
    "another primitive": ("jax.lax.tanh_p = jax.lax.sin_p", _TANH),
    "a scalar type": ("jnp.float32 = jnp.float64", _GELU),
}
# While the script runs.
_LATER = {
    "after the first call": ("", 'of("softsign")\njnp.abs = jnp.square\nof("softsign", x=Tensor(np.ones(3, np.float32)))'),
    "for one call": (
        "",
        'with unittest.mock.patch.object(jnp, "abs", jnp.square):\n    of("softsign")\nof("softsign", x=Tensor(np.ones(3, np.float32)))',
    ),
    "by a hook": (
        "",
        "net = nn.SequentialCell(nn.Dense(6, 6), nn.Softsign()).set_train()\nms.set_seed(3)\nfor p in net.get_parameters(): p.set_data(ops.ones_like(p))\n"
        "net[0].register_forward_hook(lambda *_: setattr(jnp, 'abs', jnp.square))\nshow('net', net(X[:6].reshape(1, 6)).asnumpy())",
    ),
    "in another thread": (
        "",
        "import threading\nof('softsign')\nt = threading.Thread(target=lambda: setattr(jnp, 'abs', jnp.square))\nt.start(); t.join()\n"
        "of('softsign', x=Tensor(np.ones(5, np.float32)))",
    ),
    "when it ends": ("", 'of("softsign")\nimport atexit\natexit.register(lambda: setattr(jnp, "abs", jnp.square))'),
}
# Settings, and what a script of its own holds.
_SETTINGS = {
    "products": ("jax.config.update('jax_default_matmul_precision', 'bfloat16')", 'of("matmul", Tensor(np.ones((6, 2), np.float32) / 3))'),
    "MindSpore's products": ("ms.device_context.gpu.op_precision.matmul_allow_tf32(True)", 'of("matmul", Tensor(np.ones((6, 2), np.float32) / 3))'),
    "no 64-bit types": ("jax.config.update('jax_enable_x64', False)", "of('tanh', x=Tensor(np.ones(3)))\n" + _GELU),
    "strict promotion": ("jax.config.update('jax_numpy_dtype_promotion', 'strict')", _TANH + "\n" + _SIGN),
    "another generator": ("jax.config.update('jax_default_prng_impl', 'rbg')", "ms.set_seed(1)\nshow('random', jax.random.normal(jax.random.key(1), (3,)))"),
    "no optimizations": ("jax.config.update('jax_disable_most_optimizations', True)", _GELU + "\n" + _LOG),
    "no jit": ("jax.config.update('jax_disable_jit', True)", _TANH),
    "NaNs are errors": ("jax.config.update('jax_debug_nans', True)", _TANH),
    "a constant of the script's jit": ("C = 3.0", "show('jit', ms.jit(lambda x: ops.tanh(x) * globals().get('C', 2.0))(X).asnumpy())"),
    "a function of the script": ("scale = lambda x: x * 3", "scale = globals().get('scale', lambda x: x)\nshow('jit', ms.from_jax(lambda x: scale(jnp.tanh(x)))(X).asnumpy())"),
    "a custom operator": ("C = 3.0", "C = globals().get('C', 2.0)\nshow('custom', ops.Custom(lambda x: x * C, lambda x: x, lambda x: x, func_type='pyfunc')(X).asnumpy())"),
    "a cell's own": ("nn.Softsign.construct = lambda self, x: ops.tanh(x)", "show('cell', nn.Softsign()(X).asnumpy())"),
}  # fmt: skip

REPLACED = {
    name: (_OWN + replace, _OWN.partition("def twice")[0] + computed)
    for table in (_FUNCTIONS, _PARTS, _LATER, _SETTINGS)
    for name, (replace, computed) in table.items()
}
