"""Learning rates that follow from the number of the step."""

from msjax.nn.cell import Cell

__all__ = ["LearningRateSchedule"]


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` returns the learning rate as a 0-d Tensor."""

    def construct(self, global_step):
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")
