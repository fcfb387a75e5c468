"""The settings of tests/conftest.py for `python -m tests.engine`; imported before jax."""

import tests.conftest  # noqa: F401
