"""Tests of msjax.scipy."""
