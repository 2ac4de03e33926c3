"""Texts that callers choose, as PostgreSQL can hold them: it has no NUL."""


def stored(text: str) -> str:
    """Injective, so that two names never become one."""
    if "\0" not in text and "\\" not in text:
        return text
    return text.replace("\\", "\\\\").replace("\0", "\\0")


def stored_or_none(text: str | None) -> str | None:
    return None if text is None else stored(text)


def shown(text: str) -> str:
    if "\\" not in text:
        return text
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))


def shown_or_none(text: str | None) -> str | None:
    return None if text is None else shown(text)
