"""Python objects as bytes that processes of one program send each other.

pickle can run any code when it reads, so it reads only what a process of this launch has written: such bytes are signed with a secret that the
launcher gives to its processes. Where there is none, no objects can be sent.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
from typing import Any

from msjax.core.base.checks import check_value

VARIABLE = "MSJAX_LAUNCH_TOKEN"
_SIZE = hashlib.sha256().digest_size


def packed(value: Any) -> bytes:
    """An object as bytes, with the signature of this launch in front; ValueError if this launch has no secret."""
    data = pickle.dumps(value)
    return _signature(data) + data


def unpacked(data: bytes) -> Any:
    """The object that `packed` has made bytes of.

    Raises:
        pickle.UnpicklingError: no process of this launch has made them.
        ValueError: this launch has no secret.
    """
    signature, data = data[:_SIZE], data[_SIZE:]
    if not hmac.compare_digest(signature, _signature(data)):
        raise pickle.UnpicklingError(
            f"An object came that no process of this launch has signed. Of several processes, the environment variable {VARIABLE} has to "
            "be the same in all of them; `msjax run --workers` sets it on one host."
        )
    return pickle.loads(data)


def _signature(data):
    secret = os.environ.get(VARIABLE, "")
    should = "be set to the same secret text for all processes, so that objects of others are told from anybody's"
    check_value(secret or None, bool(secret), should, "the environment variable " + VARIABLE, "objects of other processes")
    return hmac.digest(secret.encode(), data, "sha256")
