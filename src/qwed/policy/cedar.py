"""The section `cedar`: Cedar policies as text, read with the policy that holds them."""

from typing import Any

from qwed.policy.readers import PolicyReading
from qwed.policy.yaml_text import YamlNode
from qwed.rules.cedar import CedarBook, NotCedar

MAX_BYTES = 64 * 1024


def cedar(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    text = node.value
    if text is None:
        return ""
    if not isinstance(text, str) or len(text.encode()) > MAX_BYTES:
        return reading.expected(node, path, f"Cedar policies, as text of at most {MAX_BYTES} bytes")
    try:
        CedarBook(text)
    except ImportError:
        return reading.fail(node.line, path, "needs an extra: pip install 'qwed-gateway[cedar]'")
    except NotCedar as error:
        return reading.fail(node.line, path, str(error))
    return text
