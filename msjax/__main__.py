"""``python -m msjax``."""

import sys

from msjax.cli import main

sys.exit(main())
