"""Traced programs evaluated anew: values of their places, and of the hook calls within, leave them as outputs."""
