"""The tables of the pipeline: declared as plain data, held as Arrow, stored as Parquet.

* `schema`: what a table is. `declared`: all of them. `arrow`: rows and columns as checked Arrow tables.
* `files`: `<root>/<table>/cluster=<id>/snapshot=<id>/<part>.parquet`, each file replaced atomically.
* `rejects`: rows that could not be used, with their reasons (the table `rejected_rows`).
"""

from ..extras import need

need()
