"""Programs compiled for GPUs and TPUs by XLA's own compilers for them, on a machine that has neither.

``python -m tests.accelerators`` in an environment with the extra `accelerators`; see `__main__`.
"""
