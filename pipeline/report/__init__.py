"""Reports as one HTML file each: plots in SVG, tables below them, nothing loaded from elsewhere."""

from .audit import audit_page

__all__ = ["audit_page"]
