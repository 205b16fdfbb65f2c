"""The stages of planning in the local engine: functions from tables to tables; only `export` writes files.

validate -> load -> check, and validate -> load -> plan -> waves -> export. Each may be run again: it replaces what it
wrote. The kernel decides; what stands here turns tables into arrays and back.
"""

from pipeline.extras import need

need()
