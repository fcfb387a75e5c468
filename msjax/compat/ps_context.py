"""``mindspore.parallel._ps_context``: whether a process is one of a parameter server, which none is."""

__all__: list[str] = []


def _is_ps_mode() -> bool:
    return False


def _is_role_worker() -> bool:
    return False


def _is_role_pserver() -> bool:
    return False


def _is_role_sched() -> bool:
    return False
