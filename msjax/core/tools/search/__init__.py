"""Finds the operation that a wrong result of a traced program comes from, by going back along what the result depends on."""
