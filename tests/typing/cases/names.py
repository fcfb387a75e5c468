"""Names that don't exist, and arguments of wrong types, are errors. Checked by pyright; not run."""

import msjax as ms
from msjax import mint, nn, numpy as mnp, ops, train

x = ms.Tensor(1.0)

x.no_such  # pyright: ignore[reportAttributeAccessIssue]
x.no_such()  # pyright: ignore[reportAttributeAccessIssue]
ms.no_such  # pyright: ignore[reportAttributeAccessIssue]
ops.no_such  # pyright: ignore[reportAttributeAccessIssue]
nn.NoSuch  # pyright: ignore[reportAttributeAccessIssue]
mint.no_such  # pyright: ignore[reportAttributeAccessIssue]
mnp.no_such  # pyright: ignore[reportAttributeAccessIssue]
train.NoSuch  # pyright: ignore[reportAttributeAccessIssue]
ms.hooks.no_such  # pyright: ignore[reportAttributeAccessIssue]
nn.ReLU().no_such  # pyright: ignore[reportAttributeAccessIssue]
nn.Dense(2, 3).wieght  # pyright: ignore[reportAttributeAccessIssue]

x / "1"  # pyright: ignore[reportOperatorIssue]
x @ [1]  # pyright: ignore[reportOperatorIssue]
ops.add(x, "1")  # pyright: ignore[reportArgumentType]
[1] @ x  # pyright: ignore[reportOperatorIssue]
ops.add(x)  # pyright: ignore[reportCallIssue]
ops.softmax(x, axes=-1)  # pyright: ignore[reportCallIssue]
x.abs(1)  # pyright: ignore[reportCallIssue]
x.maximum("1")  # pyright: ignore[reportArgumentType]
x.amax("0")  # pyright: ignore[reportCallIssue, reportArgumentType]
x.amax(dim="0")  # pyright: ignore[reportArgumentType]
x.reshape_as()  # pyright: ignore[reportCallIssue]
x.is_leaf = True  # pyright: ignore[reportAttributeAccessIssue]
x.requires_grad = "yes"  # pyright: ignore[reportAttributeAccessIssue]
x.T()  # pyright: ignore[reportCallIssue]
nn.Dense("2", 3)  # pyright: ignore[reportArgumentType]

# Names that are imported when they are first used.
ms.load_checkpoint, ms.Model, ms.recompute, ms.no_grad, ms.vmap, ms.functionalize, ms.JitConfig
ms.hooks.capture, ms.hooks.probe, ms.tools.summary, ms.nn.Conv2d, ms.nn.Adam, ms.ops.ReduceSum, ms.mint.nn.functional.relu
