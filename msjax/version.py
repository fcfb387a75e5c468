"""The version of msjax."""

__version__ = "0.1.0"
