"""Text that tries to be more than text: orders to the model, and code for the programs that will read it.

Prompt injection is looked for three times: by what sentences do (`orders`), as phrases, and in the text
stripped of everything but letters (`spelled_orders`), where spacing and look-alike letters hide nothing.
"""

from typing import Final

from qwed_open_responses import code_injections, phrases_of_rules, phrases_to_readers, spelled_orders
from qwed_open_responses.injection import Injection

INJECTIONS: Final[tuple[Injection, ...]] = (
    *phrases_of_rules.PHRASES,
    *phrases_to_readers.PHRASES,
    *code_injections.INJECTIONS,
)


def signal(index: int) -> str:
    return f"injection:{index}:{INJECTIONS[index].kind}"


SIGNALS: Final = {
    **{signal(index): injection.signal for index, injection in enumerate(INJECTIONS)},
    **spelled_orders.SIGNALS,
}
