"""Python objects as bytes that processes of one program send each other.

pickle can run any code when it reads, so it reads only what a process of this launch has written: such bytes are signed with a secret that the
launcher gives to its processes. Where there is none, plain data and arrays can be sent, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import pickle
from typing import Any

VARIABLE = "MSJAX_LAUNCH_TOKEN"
_SIZE = hashlib.sha256().digest_size
# What pickles of plain data and arrays refer to.
_PLAIN = {
    **dict.fromkeys(
        [("builtins", name) for name in ("complex", "set", "frozenset", "bytearray", "slice", "range")]
        + [("collections", "OrderedDict"), ("msjax.common.tensor", "_rebuild"), ("numpy", "ndarray"), ("numpy", "dtype")]
    ),
    **dict.fromkeys(
        (f"numpy.{core}.{name}", function)
        for core in ("core", "_core")
        for name, function in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    ),
}


def packed(value: Any) -> bytes:
    """An object as bytes, with the signature of this launch in front.

    Example:
        >>> from msjax.engine.processes.objects import packed, unpacked
        >>> unpacked(packed({"loss": 0.5}))
        {'loss': 0.5}
    """
    data = pickle.dumps(value)
    return _signature(data) + data


def unpacked(data: bytes) -> Any:
    """The object that `packed` has made bytes of.

    Raises:
        pickle.UnpicklingError: no process of this launch has made them; or there is no secret of the launch, and the object is no plain data.
    """
    signature, data = data[:_SIZE], data[_SIZE:]
    if not hmac.compare_digest(signature, _signature(data)):
        raise pickle.UnpicklingError(
            f"An object came that no process of this launch has signed. Of several processes, the environment variable {VARIABLE} has to "
            "be the same in all of them; `msjax run --workers` sets it on one host."
        )
    return pickle.loads(data) if _secret() else _PlainUnpickler(io.BytesIO(data)).load()


def _secret():
    return os.environ.get(VARIABLE, "").encode()


def _signature(data):
    return hmac.digest(_secret() or b"none", data, "sha256")


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Another process has sent an object of {module}.{name}, which is no plain data or array, and this launch has no secret by which it "
            f"could be told from anybody's: set the environment variable {VARIABLE} to the same secret text for all processes."
        )
