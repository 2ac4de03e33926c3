"""Tables of names, written the way they are read."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
