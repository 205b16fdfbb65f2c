"""The stages as functions on tables of either engine, which `kedge.pipeline.local` and `kedge.pipeline.spark` offer."""

from ..extras import need

need()
