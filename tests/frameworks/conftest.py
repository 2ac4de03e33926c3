"""Tests against real agent frameworks, which live in environments of their own.

`scripts/test-frameworks` builds those environments and sets QWED_FRAMEWORKS to the one it runs in. There a
missing package is a failure. The ordinary test run leaves this folder out.
"""

import os

_HERE = os.environ.get("QWED_FRAMEWORKS")

collect_ignore_glob = {
    "main": ["*/crewai*", "*crewai*"],
    "crewai": ["*langchain*", "*openai*", "*llamaindex*", "*agents*", "open_responses/*"],
}.get(_HERE or "", ["*"])
