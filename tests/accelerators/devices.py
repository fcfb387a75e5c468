"""The devices that tests of sharded programs need: conftest.py makes eight of a CPU; a machine with an accelerator may have one."""

import jax
import pytest


def eight_devices():
    """jax's first eight devices; skips the test where there are fewer."""
    if jax.device_count() < 8:
        pytest.skip("needs 8 devices")
    return jax.devices()[:8]
