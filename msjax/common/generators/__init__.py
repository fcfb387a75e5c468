"""Generators of random numbers that MindSpore's programs draw from on CPUs, by their published definitions.

With the same seed they give the same numbers, on the host. `mersenne` has those of data pipelines and uniform operators, `philox`
those of initializers and of the seeds of operators, `minstd` those of dropout and normal operators.
"""
