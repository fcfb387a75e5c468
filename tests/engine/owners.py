"""The rows of owners: each is a network with hooks on ``body`` and ``body.inner``, and how its parts are called."""

import functools

import jax
from flax import nnx

import msjax as ms
from msjax import hooks, nn
from msjax.core.hooks.hook import Hook
from tests.engine import networks, other_networks

PATHS = ("body", "body.inner")
REGISTER = {kind: getattr(hooks, f"register_{kind}_hook") for kind in ("forward_pre", "forward", "backward_pre", "backward")}


class Owner:
    """The network of one owner, made anew for each run.

    Attributes:
        net: the Cell, or None.
        module: the nnx model, or None.
        model: what tools take.
        params: a pytree of jax arrays, which is empty if the functions below read the model's own objects.
        is_cell, is_nnx, has_model, has_inside: whether there will be a `net`, a `module`, a `model`, an `inside`.
        main: whether it is one of the rows that meet all ways and kinds.
        hooks_cells: whether it is Cells that have the hooks.
        behind_nnx: whether these are behind an nnx module in a Cell.
        calls_cell: whether it is another module that has the hooks of the body, and a Cell that has those of the inner one.
        live: whether hooks can come and go.
        like: the owner whose eager run is the reference, if that is not its own.
        inside: the module that has the hooks, if it is another than `model`, or None.
        by_jax: whether that is a module of jax arrays in a Cell: what `ms.from_jax` runs.
    """

    net = module = model = inside = None
    # Known of the class: pytest asks for them when it collects, and no network is to be made for that.
    main = is_cell = is_nnx = has_inside = hooks_cells = by_jax = behind_nnx = calls_cell = False
    live = has_model = True
    like = None
    params = {}

    def place(self, path):
        """(what a hook is registered through, where)"""
        return self.model, path

    def register(self, kind, path, hook, **options):
        """A handle."""
        model, where = self.place(path)
        return REGISTER[kind](model, hook, where, **options)

    def who(self, module):
        """A text for the module that a hook got; ``"own"`` in front says that it is the user's own object."""
        return hooks.path(module).removeprefix("net.")

    def forward(self, params, x):
        """The outputs of arrays, of networks that aren't Cells."""
        raise NotImplementedError

    def scalar(self, params, x):
        """The sum of the outputs, as a function of jax arrays, as the user would write it under jax's transformations."""
        return self.forward(params, x).sum()

    def of_weights(self, gradients):
        """{name: array} of a gradient with respect to `params`."""
        return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradients)}


def _initialized(model, *args, **kwargs):
    """The parameters of a model of linen or haiku."""
    with networks.variant(None, networks.Variant.dtype):
        return model.init(jax.random.key(0), *args, **kwargs)


class _WithOwnObjects(Owner):
    """Hooks get the user's own objects, and the functions read them."""

    def objects(self):
        """All modules and Cells of the network."""
        raise NotImplementedError

    def who(self, module):
        own = any(module is one for one in self.own)
        return f"{'own' if own else 'copy of'} {type(module).__name__}"

    def of_weights(self, gradients):
        leaves = jax.tree_util.tree_leaves_with_path(nnx.to_pure_dict(gradients) if gradients else {})
        return {".".join(str(key.key) for key in path): leaf for path, leaf in leaves}

    def scalar(self, params, x):
        return self.total(self.model, x)


class _Cells(_WithOwnObjects):
    is_cell = True

    def __init__(self):
        self.net = self.model = self.make()
        self.own = self.objects()

    def objects(self):
        return [cell for _, cell in self.net.cells_and_names()]

    @staticmethod
    def total(net, x):
        return net(ms.Tensor(x)).sum()._value


class Cells(_Cells):
    """A Cell with a body of Cells."""

    main = hooks_cells = True

    def make(self):
        return networks.InCell(networks.cell_body())


class CellInNnxInCell(_Cells):
    """A Cell that calls an nnx module that calls the Cell with the hooks."""

    hooks_cells, like, behind_nnx = True, "cell", True

    def make(self):
        return networks.NnxInCell(networks.NnxAroundCell())

    def objects(self):
        return [cell for _, cell in self.net.body.body.cells_and_names()]

    def place(self, path):
        return self.net.body.body, path.removeprefix("body").removeprefix(".")


class NnxInCell(_Cells):
    """A Cell with an nnx module in it."""

    main = by_jax = has_inside = True

    def make(self):
        self.inside = networks.NnxBody()
        return networks.NnxInCell(self.inside)

    def objects(self):
        return [*super().objects(), self.inside, self.inside.inner]

    def place(self, path):
        return self.inside, path.removeprefix("body").removeprefix(".")


class NnxListInCell(NnxInCell):
    """A Cell with an nnx module in nnx.List, nnx.Dict and nnx.Sequential."""

    main = False

    def make(self):
        self.inside = networks.NnxBody()
        return networks.NnxListInCell(self.inside)


class _Nnx(_WithOwnObjects):
    is_nnx = True

    def __init__(self):
        self.module = self.model = self.make()
        self.own = self.objects()  # now: nnx.jit empties the modules for a moment while hooks are called

    def forward(self, params, x):
        return self.module(x)

    @staticmethod
    def total(module, x):
        return module(x).sum()


class Nnx(_Nnx):
    """An nnx model."""

    main = True

    def make(self):
        return networks.InNnx(networks.NnxBody())

    def objects(self):
        return [self.module.body, self.module.body.inner]


class CellInNnx(_Nnx):
    """An nnx model with a Cell in it."""

    hooks_cells = has_inside = True
    like = "cell"

    def make(self):
        self.inside = networks.cell_body()
        return networks.CellInNnx(self.inside)

    def objects(self):
        return [cell for _, cell in self.inside.cells_and_names()]

    def place(self, path):
        return self.inside, path.removeprefix("body").removeprefix(".")


class NnxInCellInNnx(_Nnx):
    """An nnx model with a Cell that calls the nnx module with the hooks."""

    like, by_jax = "nnx", True

    def make(self):
        return networks.CellInNnx(networks.CellAroundNnx())

    def objects(self):
        return [self.module.body.body, self.module.body.body.inner]

    def place(self, path):
        return self.module.body.body, path.removeprefix("body").removeprefix(".")


class Linen(Owner):
    """A linen model."""

    main = True

    def __init__(self):
        self.model = hooks.hooked(self.network())
        self.params = _initialized(self.model, networks.example())

    def network(self):
        return other_networks.LinenNet()

    def forward(self, params, x):
        return self.model.apply(params, x)


class Equinox(Owner):
    """An equinox model."""

    main = True

    def __init__(self):
        self.model = self.params = hooks.hooked(self.network())

    def network(self):
        return other_networks.EquinoxNet()

    def forward(self, params, x):
        return params(x)


class Haiku(Owner):
    """A transform of haiku."""

    main = True

    def __init__(self):
        self.model = self.network()
        self.params = _initialized(self.model, networks.example())

    def network(self):
        return other_networks.haiku_transform(other_networks.HaikuNet, "net")

    def place(self, path):
        return self.model, f"net.{path}"

    def forward(self, params, x):
        return self.model.apply(params, x)


class _OtherInCell(_Cells):
    """A Cell around a hooked model of another framework, which computes with weights that are constants."""

    by_jax = has_inside = True

    def who(self, module):
        return hooks.path(module)

    def place(self, path):
        return self.inside, path.removeprefix("body").removeprefix(".")

    def hidden(self):
        return networks.example() @ networks.weight("first")


class LinenInCell(_OtherInCell):
    def make(self):
        self.inside = hooks.hooked(other_networks.LinenBody())
        params = _initialized(self.inside, self.hidden())
        return networks.InCell(None, ms.from_jax(functools.partial(self.inside.apply, params)))


class EquinoxInCell(_OtherInCell):
    def make(self):
        self.inside = hooks.hooked(other_networks.EquinoxBody())
        return networks.NnxInCell(self.inside)


class HaikuInCell(_OtherInCell):
    def make(self):
        self.inside = other_networks.haiku_transform(other_networks.HaikuBody, "body")
        params = _initialized(self.inside, self.hidden(), scale=networks.one())
        return networks.InCell(None, ms.from_jax(functools.partial(self.inside.apply, params)))

    def place(self, path):
        return self.inside, path


def _calling_a_cell(owner):
    """The owner whose inner module is a Cell, with hooks of its own."""

    class CallingCell(owner):
        main, calls_cell = False, True

        def __init__(self):
            self.cell = networks.dense("inner")
            super().__init__()

        def register(self, kind, path, hook, **options):
            if path == "body":
                return super().register(kind, path, hook, **options)
            return REGISTER[kind](self.cell, hook, **options)

        def who(self, module):
            if isinstance(module, nn.Cell):
                return f"{'own' if module is self.cell else 'copy of'} Dense"
            return super().who(module)

    return CallingCell


class CellInHookedNnx(_calling_a_cell(Nnx)):
    """A hooked nnx module that calls a Cell."""

    def make(self):
        return networks.InNnx(networks.NnxBodyOfCell(self.cell))


class CellInHookedLinen(_calling_a_cell(Linen)):
    """A hooked linen module that calls a Cell, which is no part of its variables."""

    def network(self):
        return other_networks.LinenNet(self.cell)


class CellInHookedEquinox(_calling_a_cell(Equinox)):
    """The same of equinox."""

    def network(self):
        return other_networks.EquinoxNet(self.cell)


class CellInHookedHaiku(_calling_a_cell(Haiku)):
    """The same of haiku."""

    def network(self):
        return other_networks.haiku_transform(other_networks.HaikuNet, "net", inner=self.cell)


class Functions(Owner):
    """Plain functions of arrays with hooks.with_hooks."""

    live = has_model = False
    ARGUMENTS = {"forward_pre": "pre", "forward": "post", "backward_pre": "backward_pre", "backward": "backward"}

    def __init__(self):
        self.params = {name: networks.weight(name) for name in ("first", "inner", "last")}
        self.hooks = {path: {} for path in PATHS}

    def register(self, kind, path, hook, **options):
        if kind == "forward_pre":

            def adapted(args):
                return hook(path, args)
        elif kind == "forward":

            def adapted(args, output):
                return hook(path, args, output)
        elif kind == "backward_pre" and Hook(hook).observes:

            def adapted(grad_output):
                hook(path, (grad_output,))
        elif kind == "backward_pre":

            def adapted(grad_output):
                return hook(path, (grad_output,))[0]
        else:

            def adapted(grad_input, grad_output):
                return hook(path, grad_input, (grad_output,))

        self.hooks[path][self.ARGUMENTS[kind]] = functools.wraps(hook)(adapted)
        return _Handle(lambda: self.hooks[path].pop(self.ARGUMENTS[kind]))

    def who(self, module):
        return module

    def forward(self, params, x):
        return other_networks.network_of_functions(self.hooks, params, x)


class CellInFunction(_calling_a_cell(Functions)):
    """A function with hooks that calls a Cell."""

    def forward(self, params, x):
        return other_networks.network_of_functions(self.hooks, params, x, self.cell)


class _Handle:
    def __init__(self, remove):
        self.remove = remove


OWNERS = {
    "cell": Cells,
    "nnx_in_cell": NnxInCell,
    "nnx_list_in_cell": NnxListInCell,
    "nnx": Nnx,
    "linen": Linen,
    "equinox": Equinox,
    "haiku": Haiku,
    "linen_in_cell": LinenInCell,
    "equinox_in_cell": EquinoxInCell,
    "haiku_in_cell": HaikuInCell,
    "cell_in_nnx": CellInNnx,
    "nnx_in_cell_in_nnx": NnxInCellInNnx,
    "cell_in_nnx_in_cell": CellInNnxInCell,
    "functions": Functions,
    "cell_in_hooked_nnx": CellInHookedNnx,
    "cell_in_hooked_linen": CellInHookedLinen,
    "cell_in_hooked_equinox": CellInHookedEquinox,
    "cell_in_hooked_haiku": CellInHookedHaiku,
    "cell_in_function": CellInFunction,
}
