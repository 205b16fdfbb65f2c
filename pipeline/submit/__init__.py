"""Plans handed over to a controller, wave after wave, and followed until their last move is complete."""

from pipeline.submit.driver import Options, Outcome, cancel, roll_back, submit
from pipeline.submit.looking import Event
from pipeline.submit.ways import Admin, Time

__all__ = ["Admin", "Event", "Options", "Outcome", "Time", "cancel", "roll_back", "submit"]
