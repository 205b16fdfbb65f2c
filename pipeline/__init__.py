"""Plans for clusters, and proof of what was done. Snapshots and loads go in, plans with reasons come out; journals go
in, audits and progress come out.

Rules
* Data are tables with declared schemas (`kedge.pipeline.tables`). A stage is a function from tables to tables; files
  are read and written outside the stages.
* Decisions are made in `kedge.pipeline.kernel`, on arrays of numbers, without files, clock or randomness: the same
  input gives the same bytes.
* `journal`: journals as typed rows. `audit`: the rules that they keep. `progress`: moves, stuck moves, learned rates.
* The local engine calls these functions in its process; `kedge.pipeline.spark` calls the same functions on Spark. Only
  `kedge.pipeline.spark` starts a JVM, and no module depends on the controller's runtime.
"""
