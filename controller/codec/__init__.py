"""Key paths and the JSON of every key: bytes in, values out. Broken content raises `BadValue`, never another error."""

from .text import BadValue as BadValue
