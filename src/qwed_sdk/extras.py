"""What to install, where a framework is missing."""


def extra_needed(module: str, extra: str, missing: ImportError) -> ImportError:
    """A framework that is there and lacks a name is of another version than the extra asks for."""
    what = str(missing.name or "its framework")
    if isinstance(missing, ModuleNotFoundError):
        return ModuleNotFoundError(
            f"{module} needs {what}: pip install 'qwed-gateway[{extra}]'", name=missing.name
        )
    message = (
        f"{module} needs another version of {what} ({missing}): pip install --upgrade 'qwed-gateway[{extra}]'"
    )
    return ImportError(message, name=missing.name)
