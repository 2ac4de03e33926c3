"""The rules for URLs, with their patterns compiled once."""

import functools

from qwed.engines.tools.patterns import PrivatePlaces, UrlPattern
from qwed.engines.tools.rules import UrlRules


class CompiledRules:
    """Rules with their patterns compiled once."""

    def __init__(self, rules: UrlRules) -> None:
        self.rules = rules
        self.schemes = frozenset(scheme.lower() for scheme in rules.schemes)
        self.allow = [UrlPattern(text) for text in rules.allow]
        self.deny = [UrlPattern(text, with_apex=True) for text in rules.deny]
        self.private = PrivatePlaces(rules.private)


@functools.lru_cache(maxsize=64)
def compile_rules(rules: UrlRules) -> CompiledRules:
    return CompiledRules(rules)
