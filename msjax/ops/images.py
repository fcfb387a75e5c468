"""Operators on images: resizing, sampling, rearranging of pixels."""

__all__ = []
