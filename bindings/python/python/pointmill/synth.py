"""Synthetic data: the sweeps of a drive, with the same bits on every machine."""

from ._pointmill import drive

__all__ = ["drive"]
