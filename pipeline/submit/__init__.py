"""Submits plans to a controller, wave after wave, and follows them until the last reassignment is complete."""

from ..brokers.endpoint import Brokers
from ..windows import Window, window
from .driver import Options, Outcome, Reach, cancel, roll_back, submit
from .exported import read_export
from .looking import Event
from .route import OTHERS_MOVE, Route, Sent, Time, Unsure
from .routes import Admin
from .throttle import set_throttle

__all__ = [
    "OTHERS_MOVE",
    "Admin",
    "Brokers",
    "Event",
    "Options",
    "Outcome",
    "Reach",
    "Route",
    "Sent",
    "Time",
    "Unsure",
    "Window",
    "cancel",
    "read_export",
    "roll_back",
    "set_throttle",
    "submit",
    "window",
]
