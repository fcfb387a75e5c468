"""Hooks on models of other frameworks, one file each, which is imported when the first such model comes."""
