"""Guards inside agent frameworks. Each module imports its framework, and nothing here imports a module.

Every hook fails closed: whatever goes wrong while verifying becomes the framework's own refusal.
"""
