"""Random chains of views, writes and reads of one Tensor, and how they run: in PyTorch, which has recorded them, and in msjax.

A case is a list of steps on a growing list of Tensors, the first of which is the base: a view of one of them is added to the list; one of
them is written to, which all that share its memory show; one of them is read into the loss. All numbers are small integers, exact in each type.
"""

import math
import random

SHAPES = [(2, 3, 4), (4, 3), (6,), (3, 1, 2), (2, 2)]
TYPES = ["float32"] * 6 + ["float16", "int32", "complex64"]


def part_of(index):
    """An index from its form in JSON: ints, [start, stop, step], "new", "..."."""
    return tuple([None if i == "new" else ... if i == "..." else slice(*i) if isinstance(i, list) else i for i in index])


def random_index(draw, shape):
    index = []
    for n in shape:
        kind = draw.random()
        if kind < 0.35 and n:
            index.append(draw.randrange(-n, n))
        elif kind < 0.7:
            start = draw.randrange(0, n)
            index.append([start, draw.randrange(start + 1, n + 1), draw.choice([1, 1, 2])])
        else:
            index.append([None, None, None])
    while index and draw.random() < 0.3:
        index.pop()
    if draw.random() < 0.15:
        index.insert(0, "new")
    if draw.random() < 0.15:
        index.append("...")
    return index


def random_view(draw, shape, of_complex):
    """[name, arguments...] of a view of a Tensor of this shape, None for none."""
    rank, size = len(shape), math.prod(shape)
    if of_complex and draw.random() < 0.3:
        return [draw.choice(["real", "imag", "view_as_real"])]
    name = draw.choice(
        "index index index reshape reshape transpose permute unsqueeze squeeze expand narrow select split chunk unbind diagonal flatten "
        "movedim detach T view_as iterate ravel".split()
    )
    axis = draw.randrange(rank) if rank else 0
    if name == "index":
        return ["index", random_index(draw, shape)]
    if name in ("reshape", "view_as"):
        splits = (
            [(size,), (-1,)]
            + [(n, size // n) for n in range(1, size + 1) if size % n == 0]
            + [(2, size // 4, 2)] * (size % 4 == 0)
        )
        new = draw.choice(splits)
        return [name, [size if n == -1 else n for n in new]] if name == "view_as" else [name, list(new)]
    if name in ("detach", "ravel"):
        return [name]
    if name == "unsqueeze":
        return [name, draw.randrange(rank + 1)]
    if name == "expand":
        return [name, [*([2] if draw.random() < 0.5 else []), *[3 if n == 1 else n for n in shape]]]
    if rank == 0:
        return None
    if name in ("transpose", "movedim"):
        return [name, axis, draw.randrange(rank)]
    if name == "permute":
        return [name, draw.sample(range(rank), rank)]
    if name == "squeeze":
        return [name, axis] if shape[axis] == 1 else None
    if name == "narrow":
        start = draw.randrange(shape[axis])
        return [name, axis, start, draw.randrange(1, shape[axis] - start + 1)]
    if name in ("select", "unbind"):
        return [name, axis, draw.randrange(shape[axis])]
    if name == "iterate":
        return [name, draw.randrange(shape[0])]
    if name in ("split", "chunk"):
        count = draw.randrange(1, shape[axis] + 1)
        size = count if name == "split" else -(-shape[axis] // count)
        return [name, count, axis, draw.randrange(-(-shape[axis] // size))]
    if name == "diagonal":
        if rank < 2:
            return None
        first, second = draw.sample(range(rank), 2)
        offset = draw.choice([0, 0, 1, -1])
        short = min(shape[first] + min(offset, 0), shape[second] - max(offset, 0)) < 1
        return None if short else [name, offset, first, second]
    if name == "flatten":
        return [name, axis, draw.randrange(axis, rank)]
    return ["T"] if rank == 2 else None


def take(x, view, ops, transposed):
    """A view of x; `transposed` is the method that exchanges two axes."""
    name, *given = view
    if name == "index":
        return x[part_of(given[0])]
    if name in ("reshape", "expand"):
        return getattr(x, name)(tuple(given[0]))
    if name == "permute":
        return x.permute(tuple(given[0]))
    if name == "view_as":
        return x.reshape(tuple(given[0]))
    if name == "transpose":
        return getattr(x, transposed)(*given)
    if name in ("real", "imag", "view_as_real"):
        return getattr(ops, name)(x)
    if name == "diagonal":
        return ops.diagonal(x, *given)
    if name == "unbind":
        return x.unbind(given[0])[given[1]]
    if name in ("split", "chunk"):
        return getattr(x, name)(given[0], given[1])[given[2]]
    if name == "flatten":
        return ops.flatten(x, start_dim=given[0], end_dim=given[1])
    if name == "iterate":
        return list(x)[given[0]]
    return x.T if name == "T" else getattr(x, name)(*given)


def random_write(draw, shape, detached, floats):
    """[name, arguments...] of a write to a Tensor of this shape."""
    number = draw.randrange(-3, 4)
    name = draw.choice(["fill_", "add_", "mul_", "zero_", "item", "item", "copy_", "copy_", "add_v"])
    if name == "zero_":
        return [name]
    if name in ("copy_", "add_v"):
        # v, a leaf of 8 elements; a constant where nothing is recorded.
        rows = shape[-1] if shape else 1
        return ["fill_", number] if rows > 8 or detached or not floats else [name, rows]
    if name == "item":
        return [name, random_index(draw, shape), number]
    return [name, draw.choice([2, -1, 3]) if name == "mul_" else number]


def put(x, write, v):
    """Write to x; v is a vector that requires a gradient."""
    name, *given = write
    if name == "zero_":
        x.zero_()
    elif name == "item":
        x[part_of(given[0])] = given[1]
    elif name in ("copy_", "add_v"):
        rows = v[: given[0]] * 2
        getattr(x, "copy_" if name == "copy_" else "add_")(rows if x.ndim else rows.sum())
    else:
        getattr(x, name)(given[0])


def random_steps(draw, base, floats, of_complex, take_view, write_it, read_it):
    """Steps that can be done, each done by the three functions when it is drawn; `take_view` returns a shape, or None for no view."""
    steps, shapes, detached, complexes = [], [base], [False], [of_complex]
    while len(steps) < 9:
        i, kind = draw.randrange(len(shapes)), draw.random()
        if kind < 0.5:
            view = random_view(draw, shapes[i], complexes[i])
            shape = None if view is None else take_view(i, view)
            if shape is None:
                continue
            shapes.append(shape)
            detached.append(detached[i] or view[0] == "detach")
            complexes.append(complexes[i] and view[0] not in ("real", "imag", "view_as_real"))
            steps.append(["view", i, view])
        elif kind < 0.85:
            quiet = draw.random() < 0.15
            write = random_write(draw, shapes[i], detached[i] or quiet, floats)
            steps.append(["quiet" if quiet else "write", i, write, write_it(i, write, quiet)])
        else:
            read_it(i)
            steps.append(["read", i])
    return steps


def random_case(number):
    draw = random.Random(number)
    return draw, draw.choice(SHAPES), draw.choice(TYPES)
