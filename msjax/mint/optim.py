"""mint's optimizers: groups of Parameters with settings of their own, as PyTorch's.

A learning rate is a Parameter of the optimizer, so that setting it needs no new compilation.
"""

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, wrap
from msjax.errors import describe
from msjax.lazy import module_placeholders
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import operator

__all__ = ["Adam", "AdamW", "FusedAdamW", "Optimizer", "SGD"]


class Optimizer(Cell):
    """What optimizers with Parameter groups have in common.

    Args:
        params (list): Parameters, or dicts with the key "params" and settings of their own.
        defaults (dict): settings of all groups.

    Inputs:
        - **gradients** (tuple of Tensor) - one for each Parameter, in order.

    Raises:
        TypeError: `params` is no list of Parameters or dicts.
        ValueError: there are no Parameters, or one is in two groups.
    """

    # For each state that an optimizer keeps: whether it is wanted, given a group's settings.
    _kept = {}

    def __init__(self, params, defaults):
        super().__init__(auto_prefix=False)
        if isinstance(params, Parameter) or not hasattr(params, "__iter__"):
            raise TypeError(
                f"For '{type(self).__name__}', 'params' should be a list of Parameters or dicts, but got {describe(params)}."
            )
        self.defaults = defaults
        self.param_groups = []
        self.state_of = {}
        params = list(params)
        if not params:
            raise ValueError(f"For '{type(self).__name__}', the list of Parameters is empty.")
        for group in params if isinstance(params[0], dict) else [{"params": params}]:
            self.add_param_group(group)
        self.state_step = Parameter(Tensor([0], mstype.int32), name="state_step", requires_grad=False)

    def add_param_group(self, param_group):
        """Add Parameters with settings of their own: a dict with the key "params"."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(f"A group of Parameters should be a dict with the key 'params', but got {describe(param_group)}.")
        params = param_group["params"]
        params = [params] if isinstance(params, Parameter) else list(params)
        for parameter in params:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"For '{type(self).__name__}', 'params' should hold Parameters, but got {describe(parameter)}.")
            if any(parameter is p for g in self.param_groups for p in g["params"]):
                raise ValueError(f"Parameter {parameter.name!r} is in two groups.")
        group = self.defaults | param_group | {"params": params}
        number = len(self.param_groups)
        rate = Parameter(Tensor(float(group["lr"]), mstype.float32), name=f"learning_rate_group_{number}", requires_grad=False)
        group["lr"] = rate
        self.param_groups.append(group)
        setattr(self, f"_rate_{number}", rate)
        for parameter in params:
            for state, wanted in self._kept.items():
                if wanted(group):
                    zeros = wrap(jnp.zeros(parameter.shape, parameter._value.dtype))
                    kept = Parameter(zeros, name=f"{state}.{parameter.name}", requires_grad=False)
                    setattr(self, f"_{state}_{len(self.state_of)}", kept)
                    self.state_of[id(parameter), state] = kept

    @property
    def parameters(self):
        """The Parameters of all groups, in order."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def lrs(self):
        """The learning rate of each group."""
        return [group["lr"] for group in self.param_groups]

    def construct(self, gradients):
        gradients = list(gradients)
        parameters = self.parameters
        if len(gradients) != len(parameters):
            raise ValueError(f"There are {len(parameters)} Parameters, but {len(gradients)} gradients were given.")
        self.state_step += 1
        rest = iter(gradients)
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = next(rest)
                if not isinstance(gradient, Tensor) or gradient.shape != parameter.shape:
                    raise ValueError(
                        f"The gradient of {parameter.name!r} should have shape {parameter.shape}, but got {describe(gradient)}."
                    )
                self._update(group, parameter, gradient)
        return Tensor(True)

    def _update(self, group, parameter, gradient):
        raise NotImplementedError(f"{type(self).__name__} doesn't say how a Parameter is updated.")

    def _write(self, parameter, states, values):
        """Give a Parameter and its states their new values, in order."""
        targets = [parameter, *(self.state_of[id(parameter), s] for s in states)]
        for target, value in zip(targets, values if isinstance(values, tuple) else (values,)):
            target._value = value._value

    def extend_repr(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {i}")
            lines += [f"\n    {k}: {v.item() if k == 'lr' else v}" for k, v in sorted(group.items()) if k != "params"]
        return "".join(lines) + "\n"


def _checked(who, lr, weight_decay, **others):
    for name, value in {"lr": lr, "weight_decay": weight_decay, **others}.items():
        if not isinstance(value, (int, float, Tensor)) or isinstance(value, bool):
            raise TypeError(f"For '{who}', '{name}' should be a number, but got {describe(value)}.")
        if not isinstance(value, Tensor) and value < 0:
            raise ValueError(f"For '{who}', '{name}' should not be negative, but got {value}.")


@operator(5, name="SGD", differentiable=False)
def _sgd(p, g, buffer, lr, step, momentum, dampening, decay, nesterov, maximize):
    g = (-g if maximize else g).astype(p.dtype) + decay * p
    if momentum:
        buffer = jnp.where(step[0] == 1, g, momentum * buffer + (1 - dampening) * g)
        g = g + momentum * buffer if nesterov else buffer
    return p - lr.astype(p.dtype) * g, buffer


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    Args:
        params (list): Parameters, or dicts with the key "params" and settings of their own.
        lr (float): the learning rate.
        momentum (float): Default: 0.
        dampening (float): how much less of the gradient enters the momentum. Default: 0.
        weight_decay (float): Default: 0.
        nesterov (bool): Nesterov's momentum. Default: False.
        maximize (bool): go up, in the place of down. Default: False.

    Inputs:
        - **gradients** (tuple of Tensor) - one for each Parameter, in order.

    Example:
        >>> import msjax as ms
        >>> from msjax import mint
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = mint.optim.SGD([w], lr=0.5)((ms.Tensor([1.0]),))
        >>> print(w.value())
        [0.5]
    """

    _kept = {"momentum_buf": lambda group: True}

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False):
        _checked("SGD", lr, weight_decay, momentum=momentum)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("For 'SGD', Nesterov's momentum needs a momentum and no dampening.")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _update(self, group, parameter, gradient):
        settings = (group[k] for k in ("momentum", "dampening", "weight_decay", "nesterov", "maximize"))
        buffer = self.state_of[id(parameter), "momentum_buf"]
        self._write(parameter, ("momentum_buf",), _sgd(parameter, gradient, buffer, group["lr"], self.state_step, *settings))


@operator(7, name="Adam", differentiable=False)
def _adam(p, g, m, v, top, lr, step, betas, eps, decay, decoupled, maximize):
    b1, b2 = betas
    g = (-g if maximize else g).astype(p.dtype)
    t, rate = step[0].astype(p.dtype), lr.astype(p.dtype)
    if decoupled:
        p = p * (1 - rate * decay)
    else:
        g = g + decay * p
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    top = None if top is None else jnp.maximum(top, v)
    spread = jnp.sqrt((v if top is None else top) / (1 - b2**t)) + eps
    p = p - rate / (1 - b1**t) * m / spread
    return (p, m, v) if top is None else (p, m, v, top)


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradients and of their squares.

    Args:
        params (list): Parameters, or dicts with the key "params" and settings of their own.
        lr (float): the learning rate. Default: 1e-3.
        betas (tuple of float): the shares of the old means. Default: (0.9, 0.999).
        eps (float): added to the divisor. Default: 1e-8.
        weight_decay (float): Default: 0.
        amsgrad (bool): divide by the largest mean so far. Default: False.
        maximize (bool): go up, in the place of down. Default: False.

    Inputs:
        - **gradients** (tuple of Tensor) - one for each Parameter, in order.
    """

    _kept = {"exp_avg": lambda group: True, "exp_avg_sq": lambda group: True, "max_exp_avg_sq": lambda group: group["amsgrad"]}
    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False):
        _checked(type(self).__name__, lr, weight_decay, eps=eps)
        if not all(0 <= b < 1 for b in betas):
            raise ValueError(f"For '{type(self).__name__}', the 'betas' should be in [0, 1), but got {betas}.")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def _update(self, group, parameter, gradient):
        names = [n for n, wanted in self._kept.items() if wanted(group)]
        states = [self.state_of[id(parameter), n] for n in names]
        states += [None] * (3 - len(states))
        settings = (group["betas"], group["eps"], group["weight_decay"], self._decoupled, group["maximize"])
        self._write(parameter, names, _adam(parameter, gradient, *states, group["lr"], self.state_step, *settings))


class AdamW(Adam):
    """Adam with weight decay apart from the gradients; the arguments are those of `Adam`, with a weight decay of 0.01."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class FusedAdamW(AdamW):
    """The same as `AdamW`: XLA fuses what it can."""


__getattr__ = module_placeholders(__name__)
