"""What the stand-ins of data pipelines say."""

SENTENCE = "it has no data pipelines. Model.train, Model.eval and one's own loops take any iterable of batches."
