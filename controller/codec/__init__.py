"""Key paths and the JSON of every key. Bytes in, values out; broken content is a `BadValue`, never a crash."""

from controller.codec.text import BadValue

__all__ = ["BadValue"]
