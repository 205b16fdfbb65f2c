"""The packages of the extra `pipeline`, which most modules of this package import and a few do without: those that read
journals, audit them and follow moves."""

from __future__ import annotations

from ..controller.model.extras import missing


def need() -> None:
    """Check that numpy and pyarrow can be imported. Raises ImportError with the `pip install` that adds them."""
    try:
        import numpy  # noqa: F401, ICN001, PLC0415 - only tried
        import pyarrow  # noqa: F401, ICN001, PLC0415
    except ImportError as error:
        raise ImportError(missing("pipeline", error)) from error
