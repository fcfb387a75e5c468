"""Studies of trained models: residual streams, circuits, attributions, activations at scale, splices and probes."""
