"""Texts that are addresses or paths by their form, whatever their argument is called."""

import re
from typing import Final

URL_SHAPE: Final = re.compile(
    r"\s*(https?|ftp|file|gopher|dict|ldaps?|tftp|jar|netdoc|phar|php|javascript):\S", re.I
)
PATH_SHAPE: Final = re.compile(
    r"\.\.[/\\]|[/\\]\.\.|%2e%2e|%252e|%c0%ae|\A(?:~[/\\]|/(?:etc|proc|root)/|[a-z]:\\|\\\\)", re.I
)
