"""The rows of owners: each is a network with hooks on ``body`` and ``body.inner``, and how its parts are called.

An owner has

* ``net``: the Cell, or None; ``module``: the nnx model, or None;
* ``register(kind, path, hook, **options)``: a handle;
* ``who(module)``: a text for the module that a hook got; ``"own"`` in front says that it is the user's own object;
* ``hooks_cells``: whether it is Cells that have the hooks;
* ``params`` and ``scalar(params, x)``: a pytree of jax arrays, which is empty if the function reads the model's own objects, and the
  sum of the network's outputs as a function of jax arrays, of what the user would write under jax's transformations;
* ``forward(params, x)`` for networks that aren't Cells: the outputs of arrays.
"""

import jax
from flax import nnx

import msjax as ms
from msjax import hooks
from tests.engine import networks

PATHS = ("body", "body.inner")
REGISTER = {kind: getattr(hooks, f"register_{kind}_hook") for kind in ("forward_pre", "forward", "backward_pre", "backward")}


class Owner:
    """The network of one owner, made anew for each run."""

    net = module = None
    # Known of the class: pytest asks for them when it collects, and no network is to be made for that.
    is_cell = is_nnx = False
    hooks_cells = False
    params = {}

    def place(self, path):
        """(what a hook is registered through, where)"""
        raise NotImplementedError

    def register(self, kind, path, hook, **options):
        model, where = self.place(path)
        return REGISTER[kind](model, hook, where, **options)

    def who(self, module):
        return hooks.path(module).removeprefix("net.")

    def of_weights(self, gradients):
        """{name: array} of a gradient with respect to `params`."""
        return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradients)}


class _WithOwnObjects(Owner):
    """Hooks get the user's own objects."""

    def objects(self):
        return [_at(self.net or self.module, path) for path in PATHS]

    def who(self, module):
        own = any(module is one for one in self.objects())
        return f"{'own' if own else 'copy of'} {type(module).__name__}"

    def of_weights(self, gradients):
        leaves = jax.tree_util.tree_leaves_with_path(nnx.to_pure_dict(gradients) if gradients else {})
        return {".".join(str(key.key) for key in path): leaf for path, leaf in leaves}


def _at(model, path):
    for name in path.split("."):
        model = getattr(model, name)
    return model


class InCell(_WithOwnObjects):
    """A Cell with a body of Cells."""

    is_cell = True
    hooks_cells = True

    def __init__(self):
        self.net = self.make()

    def make(self):
        return networks.CellNet(networks.CellBody())

    def place(self, path):
        return self.net, path

    def scalar(self, params, x):
        return self.total(self.net, x)

    @staticmethod
    def total(net, x):
        return net(ms.Tensor(x)).sum()._value


class NnxInCell(InCell):
    """A Cell with an nnx module in it."""

    hooks_cells = False

    def make(self):
        return networks.NnxInCell(networks.NnxBody())

    def place(self, path):
        return self.net.body, path.removeprefix("body").removeprefix(".")


class Nnx(_WithOwnObjects):
    """An nnx model."""

    is_nnx = True

    def __init__(self):
        self.module = networks.NnxNet()

    def place(self, path):
        return self.module, path

    def forward(self, params, x):
        return self.module(x)

    def scalar(self, params, x):
        return self.total(self.module, x)

    @staticmethod
    def total(module, x):
        return module(x).sum()


class _Pure(Owner):
    """A model whose weights are an argument."""

    def scalar(self, params, x):
        return self.forward(params, x).sum()

    def place(self, path):
        return self.model, path


class Linen(_Pure):
    def __init__(self):
        self.model = hooks.hooked(networks.LinenNet())
        self.params = self.model.init(jax.random.key(0), networks.X)

    def forward(self, params, x):
        return self.model.apply(params, x)


class Equinox(_Pure):
    def __init__(self):
        self.model = self.params = hooks.hooked(networks.EquinoxNet())

    def forward(self, params, x):
        return params(x)


class Haiku(_Pure):
    def __init__(self):
        self.model = networks.haiku_transform(networks.HaikuNet, "net")
        self.params = self.model.init(None, networks.X)

    def place(self, path):
        return self.model, f"net.{path}"

    def forward(self, params, x):
        return self.model.apply(params, x)


OWNERS = {
    "cell": InCell,
    "nnx_in_cell": NnxInCell,
    "nnx": Nnx,
    "linen": Linen,
    "equinox": Equinox,
    "haiku": Haiku,
}
