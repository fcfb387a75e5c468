"""Hooks on values: the protocol, hook tables and handles, events and their delivery."""
