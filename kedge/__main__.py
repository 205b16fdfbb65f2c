"""The `kedge` command, also as `python -m kedge`."""

from .controller.cli import main

if __name__ == "__main__":
    main()
