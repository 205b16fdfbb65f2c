"""The tables of the pipeline: declared as plain data, made and held as Arrow, kept as Parquet.

* `schema`: what a table is. `declared`: all of them. `arrow`: rows and columns into Arrow tables, checked.
* `files`: `<root>/<table>/cluster=<id>/snapshot=<id>/<part>.parquet`, each file the old one or the new one.
* `rejects`: what could not be taken in, with its reason (the table `quarantine`).
"""

from pipeline.extras import need

need()
