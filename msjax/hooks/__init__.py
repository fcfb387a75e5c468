"""Hooks: tables, handles, nodes."""
