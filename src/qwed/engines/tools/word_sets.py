"""Long tables of words, written as one reads them."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text, blanks and line breaks apart."""
    return frozenset(text.split())
