"""What a library that is not installed says: the extra that brings it."""

import subprocess
import sys

import pytest

CASES = {
    "import qwed; qwed.Gateway": ("cryptography", "qwed-gateway[server]"),
    "from qwed_open_responses.guards import SchemaGuard; SchemaGuard({'type': 'object'})": (
        "jsonschema_rs",
        "qwed-gateway[guards]",
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_what_is_missing_is_named_with_the_extra_that_brings_it(code: str) -> None:
    library, extra = CASES[code]
    # None in sys.modules makes an import fail as if the package were not there.
    script = f"import sys; sys.modules[{library!r}] = None; {code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert f"pip install '{extra}'" in done.stderr.splitlines()[-1]
    assert library in done.stderr.splitlines()[-1]
