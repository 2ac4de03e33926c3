"""Texts that callers choose, as PostgreSQL can hold them: it has no NUL."""


def store_text(text: str) -> str:
    """Injective, so that two names never become one."""
    if "\0" not in text and "\\" not in text:
        return text
    return text.replace("\\", "\\\\").replace("\0", "\\0")


def store_text_or_none(text: str | None) -> str | None:
    return None if text is None else store_text(text)


def show_text(text: str) -> str:
    if "\\" not in text:
        return text
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))


def show_text_or_none(text: str | None) -> str | None:
    return None if text is None else show_text(text)
