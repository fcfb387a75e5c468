"""Compiled programs: the caches of operators' programs in memory and on disk, and how they are compiled."""
