"""Why somebody was not signed in."""

import enum


class SignInProblem(enum.StrEnum):
    """One word each, which the dashboard has a sentence for."""

    STATE = "state"
    PROVIDER = "provider"
    TOKEN = "token"  # noqa: S105
    GROUPS = "groups"


class SignInRefused(Exception):
    """The sign-in must not go on; the message is for the person, and holds nothing that they sent."""

    def __init__(self, problem: SignInProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class ProviderUnavailable(Exception):
    """The provider did not answer, or not as the standard says: nobody is signed in by that."""
