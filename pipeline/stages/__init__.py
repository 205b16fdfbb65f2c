"""The stages of planning in the local engine: functions from tables to tables; only `export` writes files.

validate -> load -> check, and validate -> load -> plan -> waves -> export. Each may be repeated and replaces what it
wrote. The kernel decides; the stages turn tables into arrays and back.
"""

from ..extras import need

need()
