"""Whole libraries of MindSpore's users, unmodified, run on small made data beside what the real MindSpore gave."""
