"""Names from MindSpore's private modules that public programs import, for `msjax.alias`."""
