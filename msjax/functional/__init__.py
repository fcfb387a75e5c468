"""Hooks for pure functions: functionalized networks, captures, plain functions of arrays; users reach it as ``ms.hooks``."""
