"""Compilation."""
