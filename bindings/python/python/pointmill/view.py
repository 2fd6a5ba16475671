"""Pages that show clouds, in a browser and in a notebook."""

from ._pointmill import Page, page

__all__ = ["Page", "page"]
