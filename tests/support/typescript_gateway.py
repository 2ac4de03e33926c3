"""A real gateway for tests written in another language: `… COMMAND…` runs with its address and keys."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.protected import Protected
from tests.support.server import OPERATOR_KEY, clean_environment


def main(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        protected = Protected(Path(folder))
        protected.start()
        try:
            environ = clean_environment(
                QWED_BASE_URL=protected.server.base_url,
                QWED_API_KEY=protected.key,
                QWED_OPERATOR_KEY=OPERATOR_KEY,
            )
            return subprocess.run(command, env=environ, timeout=300).returncode
        finally:
            protected.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
