"""GlobalComm: what MindSpore's programs read about the communication between processes."""

from msjax.engine.processes.groups import PROCESSES, WORLD_NAMES


class _GlobalComm:
    """The state of the communication.

    Attributes:
        BACKEND (str): "nccl" on GPUs, "mccl" on CPUs, "hccl" before `init`.
        WORLD_COMM_GROUP (str): the name of the group of all processes.
        INITED (bool): whether `init` has been called.
        CHECK_ENVS (bool): without effect.
    """

    CHECK_ENVS = True

    @property
    def BACKEND(self) -> str:
        return self.WORLD_COMM_GROUP.partition("_")[0]

    @property
    def WORLD_COMM_GROUP(self) -> str:
        if not PROCESSES.initialized:
            return WORLD_NAMES[0]
        import jax

        return WORLD_NAMES[2] if jax.default_backend() == "cpu" else WORLD_NAMES[1]

    @property
    def INITED(self) -> bool:
        return PROCESSES.initialized


GlobalComm = _GlobalComm()


class Backend(str):
    """The name of a library of communication, such as ``Backend.NCCL``."""

    HCCL, NCCL, MCCL, UNDEFINED = "hccl", "nccl", "mccl", "undefined"


def _is_initialized() -> bool:
    return PROCESSES.initialized


def _is_available() -> bool:
    return True


def _get_group_ranks(group: str) -> list[int]:
    return list(PROCESSES.group(group).ranks)
