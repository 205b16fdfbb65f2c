"""`python -m kedge.rig explore --host MODULE:CLASS`: seeded failures against a host of your own."""

import sys

from ..controller.rig.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
