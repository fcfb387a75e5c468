"""A case as a Python program."""

from tests.differential.generate import CALLS

OPERANDS = {
    "forward_pre": ["inputs"],
    "forward": ["inputs", "output"],
    "backward_pre": ["grads"],
    "backward": ["first", "second"],
}
LOOPS = {
    "scan": "jax.lax.scan(lambda carry, _: ({call}._value, None), value, None, length=2)[0]",
    # Examples keep an axis, since all Tensors have two.
    "vmap": "jax.vmap(lambda carry: {call}._value)(value[:, None])[:, 0]",
}
METHODS = {"+": "add_", "*": "mul_", "-": "sub_"}


def program(case):
    """The source: classes of cells, `build`, `HOOKS`, `inputs` and the settings of the case."""
    lines = [
        "from tests.differential import kit",
        "from tests.differential.kit import *",
        "",
        f"DIALECT = {case['dialect']!r}",
        f"STAGES = {case['stages']!r}",
    ]
    lines.append(f"WANTED = {case['wanted']!r}")
    lines += ["", ""]
    for number, hook in enumerate(case["hooks"]):
        lines += [*_hook(number, hook, case["dialect"]), "", ""]
    for i, cell in enumerate(case["cells"]):
        lines += [*_cell(i, cell, case["cells"]), "", ""]
    lines += [*_build(case["cells"]), "", "", *_inputs(case["cells"][0], case["same"]), "", ""]
    lines.append("# Number of a hook, the stages from and before which it is there, and how it is registered.")
    lines.append("HOOKS = [")
    for number, hook in enumerate(case["hooks"]):
        if hook["on"][0] not in ("inside", "input"):
            lines.append(f"    ({number}, {hook['since']}, {hook['until']}, lambda cells: {_registration(number, hook)}),")
    lines += ["]", "INPUT_HOOKS = ["]
    for number, hook in enumerate(case["hooks"]):
        if hook["on"][0] == "input":
            lines.append(f"    ({hook['since']}, {hook['until']}, lambda args: args[{hook['on'][1]}].register_hook(h{number})),")
    return "\n".join([*lines, "]", ""])


def _registration(number, hook):
    if hook["on"][0] == "every":
        return f"nn.register_cell_{hook['kind']}_hook(h{number})"
    options = "".join(f", {name}={value}" for name, value in hook["options"].items())
    if hook["on"][0] == "module":
        _, i, k, path = hook["on"]
        return f"hook_module(cells[{i}].m{k}, {hook['kind']!r}, h{number}, {path!r}{options})"
    if hook["on"][0] == "weight":
        return f"cells[{hook['on'][1]}].w{hook['on'][2]}.register_hook(h{number})"
    return f"cells[{hook['on'][1]}].register_{hook['kind']}_hook(h{number}{options})"


def _hook(number, hook, dialect):
    kind, factor = hook["kind"], 1.0 + (number % 4 + 1) / 8
    if kind in ("tensor", "gradients"):
        carried, arguments = "grad", ["grad"]
    else:
        arguments = ["cell", *OPERANDS[kind]]
        if hook["options"].get("with_kwargs"):
            arguments.insert(2, "kwargs")
        carried = arguments[-1]
        if kind == "forward_pre":
            carried = "inputs"
        elif kind == "backward" and dialect != "mindspore-1":
            carried = "first"
    head = f"def h{number}({', '.join(arguments)}):"
    if hook["action"] in ("observe", "raise", "remove"):
        then = {"raise": [f"    raise Failed('h{number}')"], "remove": [f"    HANDLES[{number}].remove()"]}.get(
            hook["action"], []
        )
        return [head, f"    note('h{number} {kind}', {', '.join(arguments)})", *then]
    result = f"cut({carried})" if hook["action"] == "cut" else f"times({carried}, {factor})"
    if hook["action"] == "print":
        head += f"\n    print('h{number} {kind}', *tensors_in({carried}))"
    if kind == "forward_pre" and hook["options"].get("with_kwargs"):
        result += f", times(kwargs, {factor})"
    return [head, f"    return {result}"]


def _cell(i, cell, cells):
    children = sorted({s[3] for s in cell["body"] if s[1] in CALLS})
    lines = [
        f"class C{i}(nn.Cell):",
        f"    def __init__(self{''.join(f', c{j}' for j in children)}):",
        "        super().__init__()",
    ]
    lines += [f"        self.c{j} = c{j}" for j in children]
    for k, (shape, requires_grad) in enumerate(cell["weights"]):
        lines.append(f"        self.w{k} = weight({10 * i + k}, {shape}{'' if requires_grad else ', False'})")
    lines += [f"        self.m{k} = module({10 * i + k}, {nested})" for k, nested in enumerate(cell.get("modules", []))]
    lines += [f"        self.n{k} = nn.BatchNorm1d(3, eps=0.1)" for k in range(cell["norms"])]
    if cell["recompute"]:
        lines.append("        self.recompute()")
    lines += [f"        self.s{k} = weight({10 * i + k + 5}, [3], False)" for k in range(cell["states"])]
    for _, what, _, detail in cell["body"]:
        if what == "constant" and detail == "attribute":
            lines.append("        self.constant = ms.Tensor([[0.25, 0.5, -1.0]], ms.float32)")
        if what in ("tap", "tap2"):
            lines.append(f"        self.tap{detail} = ops.HookBackward(h{detail})")
        elif what == "insert":
            lines.append(f"        self.insert{detail} = ops.InsertGradientOf(h{detail})")
    names = [f"a{k}" for k in range(len(cell["inputs"]))]
    keywords = [f"k{k}" for k in range(cell["keywords"])]
    lines += ["", f"    def construct(self, {', '.join(names + keywords)}):"]
    for k, kind in enumerate(cell["inputs"]):
        if kind == "t":
            lines.append(f"        a{k}_0, a{k}_1 = a{k}")
        elif kind == "d":
            lines.append(f"        a{k}_0, a{k}_1 = a{k}['p'], a{k}['q']")
    for statement in cell["body"]:
        lines += [f"        {line}" for line in _statement(statement, cell, cells)]
    lines.append(f"        return {_packed(cell['output'], cell['returns'], cell)}")
    if cell["bprop"] is not None:
        grads = ", ".join(f"dout * {cell['bprop']} * {name}" for name in names)
        lines += ["", f"    def bprop(self, {', '.join(names)}, out, dout):", f"        return ({grads},)"]
    return lines


def _packed(kind, values, cell=None):
    if kind == "t":
        return f"({values[0]}, {values[1]})"
    if kind == "d":
        return f"{{'p': {values[0]}, 'q': {values[1]}}}"
    # A number among the inputs scales the first result, so that it matters.
    numbers = [k for k, kind in enumerate(cell["inputs"]) if kind == "n"] if cell else []
    return values[0] + "".join(f" * a{k}" for k in numbers)


def _statement(statement, cell, cells):
    results, what, operands, detail = statement
    target, one = ", ".join(results), operands[0]
    match what:
        case "call":
            return _call(target, operands, detail, cells[detail])
        case "unary":
            # Of a large number, the sine is the rounding of whatever computed it.
            return [f"{target} = ops.sin(ops.tanh({one}))" if detail == "sin" else f"{target} = ops.{detail}({one})"]
        case "binary":
            return [f"{target} = {one} {detail} {operands[1]}"]
        case "scale":
            return [f"{target} = {one} * {detail}"]
        case "weight":
            shape = cell["weights"][detail][0]
            return [f"{target} = {one} * self.w{detail}" if len(shape) == 1 else f"{target} = ops.matmul({one}, self.w{detail})"]
        case "constant":
            made = {"inside": "ms.Tensor([[0.25, 0.5, -1.0]], ms.float32)", "attribute": "self.constant", "global": "CONSTANT"}[
                detail
            ]
            return [f"{target} = {one} + {made}"]
        case "print":
            return [f"print('construct', {one})"]
        case "state":
            return [
                f"ops.assign(self.s{detail}, self.s{detail} + ops.stop_gradient({one})[0])",
                f"{target} = {one} * self.s{detail}",
            ]
        case "in_place_argument":
            return [f"{one}.{METHODS[detail]}({operands[1]})"]
        case "norm":
            return [f"{target} = self.n{detail}({one})"]
        case "fail":
            return [f"if kit.SCALE == {detail + 1}:", "    raise Failed('construct')"]
        case "scan" | "vmap":
            loop = LOOPS[what].format(call=f"self.c{detail}(ms.Tensor(carry))")
            return [f"{target} = ms.from_jax(lambda value: {loop})({one})"]
        case "module":
            return [f"{target} = ms.from_jax(self.m{detail})({one})"]
        case "inner_grad":
            return [f"{target} = ms.grad(self.c{detail})({', '.join(operands)})"]
        case "stop":
            return [f"{target} = ops.stop_gradient({one})"]
        case "tap" | "tap2":
            return [f"{target} = self.tap{detail}({', '.join(operands)})"]
        case "insert":
            return [f"{target} = self.insert{detail}({one})"]
        case "tensor_hook":
            return [f"{one}.register_hook(h{detail})"]
        case "in_place":
            return [f"{target} = {one} * 1.0", f"{target}.{METHODS[detail]}({operands[1]})"]
        case "to_int":
            return [f"{target} = ({one} * 3).astype(ms.int32)"]
        case "int":
            return [f"{target} = {one} * {operands[1]}"]
    raise ValueError(what)


def _call(target, operands, j, child):
    rest, given = iter(operands), []
    for kind in child["inputs"]:
        if kind == "n":
            given.append("2")
        elif kind in "fi":
            given.append(next(rest))
        else:
            given.append(_packed(kind, [next(rest), next(rest)]))
    given += [f"k{k}={next(rest)}" for k in range(child["keywords"])]
    call = f"self.c{j}({', '.join(given)})"
    if child["output"] == "d":
        return [f"{target} = map({call}.get, 'pq')"]
    return [f"{target} = {call}"]


def _build(cells):
    lines = ["def build():"]
    for i in reversed(range(len(cells))):
        children = sorted({s[3] for s in cells[i]["body"] if s[1] in CALLS})
        lines.append(f"    c{i} = C{i}({', '.join(f'c{j}' for j in children)})")
    if any(cell["norms"] for cell in cells):
        lines.append("    c0.set_train()")
    return [*lines, f"    return [{', '.join(f'c{i}' for i in range(len(cells)))}]"]


def _inputs(cell, same):
    made = []
    for k, kind in enumerate(cell["inputs"]):
        if kind == "f":
            made.append(f"floats({k})")
        elif kind == "i":
            made.append(f"integers({k})")
        elif kind == "n":
            made.append("3")
        else:
            made.append(_packed(kind, [f"floats({20 + k})", f"floats({30 + k})"]))
    keywords = ", ".join(f"'k{k}': floats({40 + k})" for k in range(cell["keywords"]))
    if same:
        made[:2] = ["x", "x"]
        return ["def inputs():", "    x = floats(0)", f"    return ({', '.join(made)},), {{{keywords}}}"]
    return ["def inputs():", f"    return ({', '.join(made)},), {{{keywords}}}"]
