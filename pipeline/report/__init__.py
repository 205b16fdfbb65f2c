"""Reports as one file of HTML each: plots in SVG, tables below them, nothing from outside."""

from pipeline.report.audit import audit_page

__all__ = ["audit_page"]
