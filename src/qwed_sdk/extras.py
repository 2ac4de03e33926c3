"""What to install, where a framework is missing."""


def extra_needed(module: str, extra: str, missing: ModuleNotFoundError) -> ModuleNotFoundError:
    message = f"{module} needs {missing.name}: pip install 'qwed-gateway[{extra}]'"
    return ModuleNotFoundError(message, name=missing.name)
