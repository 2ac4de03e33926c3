"""The words and signs by which a text is taken apart into statements."""

from typing import Final

from qwed.engines.math.grammar import CURRENCIES


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that may stand before a claim without changing it.
LEADS: Final = words(
    "so then thus therefore hence and now also but because since we i get got have has know note see "
    "think believe claim say says said conclude found that answer result total sum value final it is "
    "what what's whats how much many calculate compute evaluate find determine simplify expand factor "
    "verify check prove work out show confirm true correct following equation expression of please "
    "can you tell me claimed statement identity : , calculated computed cost amount price given "
    "let for any all every real question fact indeed clearly if when"
)
ASKING: Final = words(
    "calculate compute evaluate find determine simplify what what's whats how expand factor give work "
    "differentiate integrate"
)
ANSWER_LEADS: Final = words("a A answer is it it's its the : = that , result")
CONNECTIVES: Final = words(", and so then therefore thus hence but while also when where given if => ⇒ → ->")
# After one of these a number belongs to the words: "the cost of two", "the total for 3".
PREPOSITIONS: Final = words("of for in with at on from to per cost price amount by after")
# Before a number and a dash these count the parts of a text: "Step 3 - 16 + 12 = 28".
PARTS_OF_TEXTS: Final = words(
    "step day part week month year question problem item line stage phase round case example exercise "
    "task option section chapter method solution q no number"
)
# Anywhere in the text these may turn a claim around.
DENIALS: Final = words(
    "false wrong incorrect incorrectly untrue mistaken mistake error erroneous disprove invalid "
    "contradiction lie lies refute unless except deny denies doubt doubts mod modulo binary octal "
    "hexadecimal hex roman base"
)
NEGATIONS: Final = words(
    "not never no isn't isnt doesn't doesnt aren't wasn't cannot can't don't didn't won't nor neither"
)
OPERATORS: Final = words("+ - − – * × · ⋅ / ÷ ^ ** ( ) [ ] { } ! % | √ ° ± π ½ ¼ ¾ ² ³ ¢ mod of") | set(
    CURRENCIES
)
PUNCTUATION: Final = frozenset(
    ("", ",", ":", ";", ".", "?", "'", '"', "“", "”", "’", "—", "#", "•", "...", "…", "=>", "⇒", "→", "->")
)
ARITHMETIC: Final = words("+ - − * × · / ÷ ^ **")
FORMULA_COMMANDS: Final = words(r"\frac \sqrt \times \cdot \div \left \right \pi \pm")
ENDS_VALUE: Final = frozenset({")", "%", "!", "]", "¢", *CURRENCIES})
APPROXIMATE: Final = words("about approx approx. approximately roughly nearly almost around ≈ ~")
