"""Plans for fleets, and proof of what was done: snapshots and load in, safe, cheap and explained plans out; journals
in, audits and progress out.

Rules
* Data are tables with declared schemas (`pipeline.tables`); a stage is a function from tables to tables, and a file is
  read or written at the edge alone.
* Decisions are made in `pipeline.kernel`, on arrays of numbers: no file, no clock, no chance; the same input gives the
  same bytes.
* `journal`: journals as typed rows. `audit`: the rules that they keep. `progress`: moves, what is stuck, what is
  learned.
* The local engine calls all this in its process; `pipeline.spark` calls the same functions on Spark. Nothing else
  starts a JVM, and nothing knows of the controller's runtime.
"""
