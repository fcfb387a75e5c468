"""load_checkpoint and load_param_into_net."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any

from msjax import log
from msjax.common.arrays import as_array
from msjax.common.parameter import Parameter
from msjax.common.tensor import wrap
from msjax.core.base.checks import check_bool, check_kind, check_str, check_type, check_value
from msjax.nn.cell.base import Cell
from msjax.serialization.files import CorruptCheckpoint, reading
from msjax.serialization.formats import find, no_encryption


def load_checkpoint(
    ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None, dec_key: bytes | str | None = None, dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None, choice_func: Callable[..., Any] | None = None,
    crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt",
) -> dict[str, Any]:  # fmt: skip
    """Load the Parameters that a file holds.

    Args:
        ckpt_file_name (str): the file, with the suffix of the format.
        net (Cell, optional): a network to load them into.
        strict_load (bool): see `load_param_into_net`. Default: False.
        filter_prefix (str, list or tuple of str, optional): names that begin so are left out.
        dec_key, dec_mode: encryption is not offered.
        specify_prefix (str, list or tuple of str, optional): only names that begin so are loaded.
        choice_func (callable, optional): says of a name whether it is loaded.
        crc_check (bool): whether the checksum is compared; a file without one is refused then. Default: False.
        remove_redundancy (bool): accepted for compatibility with MindSpore, without effect.
        format (str): "ckpt" or "safetensors". Default: "ckpt".

    Returns:
        dict, Parameters by name; text that was saved with them is a str.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: no such file, one that is damaged or of another format, or nothing is left to load.
        NotImplementedError: `dec_key` is given.

    Example:
        >>> import msjax as ms, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> ms.save_checkpoint({"w": ms.Tensor([1.0, 2.0])}, path)
        >>> print(ms.load_checkpoint(path)["w"].value())
        [1. 2.]
    """
    who = "load_checkpoint"
    check_str(ckpt_file_name, "ckpt_file_name", who)
    for name, flag in (("strict_load", strict_load), ("crc_check", crc_check), ("remove_redundancy", remove_redundancy)):
        check_bool(flag, name, who)
    check_kind(net, net is None or isinstance(net, Cell), "be a Cell", "net", who)
    no_encryption(dec_key, "dec_key", who)
    codec = find(format, who)
    left_out, wanted = _prefixes(filter_prefix, "filter_prefix"), _prefixes(specify_prefix, "specify_prefix")
    fits = ckpt_file_name.endswith("." + format)
    check_value(ckpt_file_name, fits, f"have the suffix .{format}, or 'format' be another one", "the file", who)
    parameters = {}
    with reading(ckpt_file_name) as data:
        for name, value in codec.read(data, crc_check).items():
            if (left_out and name.startswith(left_out)) or (wanted and not name.startswith(wanted)):
                continue
            if choice_func is None or choice_func(name):
                parameters[name] = value if isinstance(value, str) else _parameter(name, value)
    if not parameters:
        raise ValueError(f"For '{who}', nothing of the file {ckpt_file_name} is left to load.")
    if net is not None:
        load_param_into_net(net, parameters, strict_load)
    return parameters


def _parameter(name, array):
    try:
        return Parameter(wrap(as_array(array)), name=name or None)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise CorruptCheckpoint(f"no Tensor can be made of {name!r}: {str(error)[:120]}") from error


def _prefixes(given, name) -> tuple[Any, ...]:
    if given is None:
        return ()
    prefixes = (given,) if isinstance(given, str) else given
    fits = isinstance(prefixes, (list, tuple)) and all(isinstance(p, str) for p in prefixes)
    check_kind(given, fits, "be a str or a list or tuple of str", name, "load_checkpoint")
    if "" in prefixes:
        raise ValueError(f"For 'load_checkpoint', '{name}' should not hold the empty str.")
    return tuple(prefixes)


def load_checkpoint_async(
    ckpt_file_name: Any, net: Any = None, strict_load: bool = False, filter_prefix: Any = None,
    dec_key: bytes | str | None = None, dec_mode: str = "AES-GCM", specify_prefix: Any = None, choice_func: Any = None,
) -> Any:  # fmt: skip
    """`load_checkpoint`, with its arguments, on another thread: a future, whose ``result()`` waits and returns the Parameters by name."""
    executor = concurrent.futures.ThreadPoolExecutor(1, "load_checkpoint")
    try:
        return executor.submit(
            load_checkpoint, ckpt_file_name, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
        )
    finally:
        executor.shutdown(wait=False)


def load_param_into_net(
    net: Cell, parameter_dict: dict[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[Any], list[str]]:
    """Set the Parameters of a network.

    Names that are not found are tried again with a prefix, such as ``backbone.``, that others of the dict have in
    front, unless `strict_load`. A warning is logged for those that are still missing.

    Args:
        net (Cell): the network.
        parameter_dict (dict): Parameters by name, as `load_checkpoint` returns them.
        strict_load (bool): whether types have to be the same; otherwise floats may become other floats, and integers other
            integers. Default: False.
        remove_redundancy (bool): accepted for compatibility with MindSpore, without effect.

    Returns:
        Two lists of names: those of the network that were not loaded, and those of the dict that were not used.

    Raises:
        TypeError: an argument of a wrong type.
        RuntimeError: shapes or types don't fit. Nothing is loaded then.

    Example:
        >>> from msjax import Parameter, Tensor, load_param_into_net, nn
        >>> net = nn.Dense(1, 1)
        >>> load_param_into_net(net, {"weight": Parameter(Tensor([[2.0]]))})
        (['bias'], [])
        >>> print(net.weight.value())
        [[2.]]
    """
    who = "load_param_into_net"
    check_type(net, Cell, "net", who)
    check_type(parameter_dict, dict, "parameter_dict", who)
    for name, flag in (("strict_load", strict_load), ("remove_redundancy", remove_redundancy)):
        check_bool(flag, name, who)
    for name, value in parameter_dict.items():
        fits = isinstance(name, str) and isinstance(value, (Parameter, str))
        check_kind({name: value}, fits, "hold Parameters by name", "parameter_dict", who)
    found, missing = [], []
    for parameter in net.get_parameters():
        own = parameter_dict.get(parameter.name)
        if isinstance(own, Parameter):
            found.append((parameter, own))
        else:
            missing.append(parameter)
    names = {p.name for p, _ in found}
    unused = [name for name in parameter_dict if name not in names]
    while not strict_load and (prefix := _common_prefix([p.name for p in missing], unused, parameter_dict)):
        again = [(p, parameter_dict.get(prefix + p.name)) for p in missing]
        found += [(p, value) for p, value in again if isinstance(value, Parameter)]
        missing = [p for p, value in again if not isinstance(value, Parameter)]
    for parameter, value in found:
        _check(parameter, value, strict_load)
    for parameter, value in found:
        parameter._set_value(as_array(value._value.reshape(parameter.shape), parameter.dtype))
    if missing:
        log.warning(
            "For 'load_param_into_net', %d Parameters of the network are not loaded: %s", len(missing), [p.name for p in missing]
        )
    return [p.name for p in missing], unused


def _common_prefix(missing, unused, given) -> str:
    """A prefix that a name of the dict, that of a Parameter, has before a missing one; empty if there is none."""
    for name in sorted(missing, key=len, reverse=True):
        for other in unused:
            if other.endswith("." + name) and isinstance(given[other], Parameter):
                return other[: len(other) - len(name)]
    return ""


def _check(parameter, value, strict):
    one = {parameter.shape, value.shape} <= {(), (1,)} and value.shape != ()
    if parameter.shape != value.shape and not one:
        raise RuntimeError(
            f"For 'load_param_into_net', Parameter {parameter.name!r} has shape {parameter.shape}, but the one to load has "
            f"{value.shape}."
        )
    kinds = {parameter.dtype.kind, value.dtype.kind}
    if parameter.dtype != value.dtype and (strict or not (kinds == {"f"} or kinds <= {"i", "u"} or kinds == {"c"})):
        raise RuntimeError(
            f"For 'load_param_into_net', Parameter {parameter.name!r} is of type {parameter.dtype}, but the one to load of "
            f"{value.dtype}."
        )
