"""Studies of trained models: ablation, steering, patching, residual streams, circuits, attributions, activations at scale, splices and probes."""
