"""Networks of cells, and how their members read."""

from msjax import Parameter, ParameterTuple, Tensor, nn


class Leaf(nn.Cell):
    def __init__(self, fixed=False):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]))
        self.fixed = Parameter(Tensor([5.0]), requires_grad=False) if fixed else None

    def construct(self, x):
        return x * self.w


class Branch(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Parameter(Tensor(3.0), name="s")
        self.left = Leaf(fixed=True)
        self.right = Leaf()
        self.hidden = [Leaf()]
        self.pair = ParameterTuple([Parameter(1.0, name="pa"), Parameter(2.0, name="pb")])

    def construct(self, x):
        return self.right(self.left(x)) * self.scale


class Root(nn.Cell):
    def __init__(self):
        super().__init__()
        self.branch = Branch()
        self.head = Leaf()

    def construct(self, x):
        return self.head(self.branch(x))


def paths(cell):
    return [path for path, _ in cell.parameters_and_names()]


def names(cell):
    return [p.name for p in cell.get_parameters()]


BRANCH = ["scale", "pa", "pb", "left.w", "left.fixed", "right.w"]
