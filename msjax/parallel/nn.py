"""``mindspore.parallel.nn``: networks that process a batch in parts."""

from msjax.nn.wrap.micro_batch import GradAccumulationCell as GradAccumulation, MicroBatchInterleaved, PipelineCell as Pipeline

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline"]
