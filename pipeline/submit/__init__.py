"""Submits plans to a controller, wave after wave, and follows them until the last reassignment is complete."""

from pipeline.submit.driver import Options, Outcome, Reach, cancel, roll_back, submit
from pipeline.submit.looking import Event
from pipeline.submit.way import OTHERS_MOVE, Sent, Time, Unsure, Way
from pipeline.submit.ways import Admin

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
    "roll_back",
    "submit",
]
