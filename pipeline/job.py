"""The commands as a program for spark-submit: `kedge plan`, `kedge journal audit` and `progress` on its session.

    spark-submit --py-files kedge.zip pipeline/job.py plan drain TABLES --all-clusters

Arguments, files and exit codes are those of `kedge`; `--engine` defaults to spark.
"""

from __future__ import annotations

import os

from kedge.controller.cli import main  # absolute: this file is run by its path

if __name__ == "__main__":
    os.environ.setdefault("KEDGE_ENGINE", "spark")
    main()
