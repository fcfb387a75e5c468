"""Training: MindSpore's ``train``."""
