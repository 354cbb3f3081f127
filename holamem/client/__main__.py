"""`python -m holamem.client`, or `holamem`: memory from the command line."""

import sys

from holamem.client.commands import main

if __name__ == "__main__":
    sys.exit(main())
