"""Submits plans to a controller, wave after wave, and follows them until the last reassignment is complete."""

from .driver import Options, Outcome, Reach, cancel, roll_back, submit
from .exported import read_export
from .looking import Event
from .way import OTHERS_MOVE, Sent, Time, Unsure, Way
from .ways import Admin

__all__ = [
    "OTHERS_MOVE",
    "Admin",
    "Event",
    "Options",
    "Outcome",
    "Reach",
    "Sent",
    "Time",
    "Unsure",
    "Way",
    "cancel",
    "read_export",
    "roll_back",
    "submit",
]
