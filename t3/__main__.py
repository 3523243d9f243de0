"""``python -m t3`` is the command ``t3``."""

import sys

from .cli.main import main

sys.exit(main())
