"""Layers for images: resizing, rearranging of pixels."""

__all__ = []
