"""See `controller.keys.unreadable`."""

from controller.keys.unreadable import broken, forbidden

__all__ = ["broken", "forbidden"]
