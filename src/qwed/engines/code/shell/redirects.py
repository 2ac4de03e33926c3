"""Redirections: where a command reads from, and where what it writes goes."""

from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.shell import words
from qwed.engines.code.shell.expansions import Expansions
from qwed.engines.code.shell.machine import EMPTY, UNREAD, Stream
from qwed.engines.code.shell.words import HOLE

_ENDLESS: Final = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"})


def file_marks(path: str) -> frozenset[str]:
    if path in _ENDLESS:
        return frozenset({"endless"})
    if path == "/dev/null":
        return frozenset()
    if places.is_sensitive(path) or places.is_local_secret(path):
        return frozenset({"file", "secret"})
    return frozenset({"file", "outside"}) if places.leaves_working_tree(path) else frozenset({"file"})


class Redirects(Expansions):
    """Follows text into a command and out of it."""

    def _redirected(self, node: Any, stdin: Stream) -> Stream:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if body is None or child.id != body.id]
        # The grammar hangs a redirection on a whole list; the shell gives it to the last command.
        while body is not None and body.type in ("list", "pipeline") and body.named_children:
            piped = body.type == "pipeline"
            for child in body.named_children[:-1]:
                made = self.run(child, stdin)
                stdin = made if piped else stdin
            body = body.named_children[-1]
        for redirect in redirects:
            stdin = self._input_of(redirect, stdin)
        made = self.run(body, stdin) if body is not None else EMPTY
        for redirect in redirects:
            made = self._output_to(redirect, made)
        return made

    def _input_of(self, redirect: Any, stdin: Stream) -> Stream:
        match redirect.type:
            case "heredoc_redirect":
                return self._heredoc(redirect)
            case "herestring_redirect":
                return self._herestring(redirect)
            case "file_redirect" if self._operator(redirect).startswith("<"):
                return self.file_input(redirect)
        return stdin

    def _operator(self, redirect: Any) -> str:
        return next((str(child.type) for child in redirect.children if not child.is_named), "")

    def file_input(self, redirect: Any) -> Stream:
        made = UNREAD
        for target in self._destinations(redirect):
            if target in ("0", "1", "2") and self._operator(redirect) == "<&":
                return Stream(None, frozenset({"terminal"}))
            self._check_device(target, redirect)
            self.judge.read(self, target, self.line(redirect))
            made = self.contents(target)
        return made

    def _destinations(self, redirect: Any) -> list[str]:
        found = redirect.children_by_field_name("destination")
        return [words.plain(field) for child in found for field in self.fields(child)]

    def contents(self, path: str) -> Stream:
        return self.written.get(path, Stream(None, file_marks(path)))

    def _check_device(self, target: str, redirect: Any) -> None:
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            self.harm("reverse-shell", self.line(redirect))

    def _herestring(self, redirect: Any) -> Stream:
        text = "".join(words.plain(self.word(child)) for child in redirect.named_children)
        return Stream(None if HOLE in text else text + "\n", self.word_marks)

    def _heredoc(self, redirect: Any) -> Stream:
        start = next((child for child in redirect.named_children if child.type == "heredoc_start"), None)
        body = next((child for child in redirect.named_children if child.type == "heredoc_body"), None)
        if body is None:
            return EMPTY
        if start is not None and self.text(start)[:1] in ("'", '"', "\\"):
            return Stream(self.text(body))
        text = self._pieces(body, body.start_byte, body.end_byte, words.double_quoted, quoted=True)
        return Stream(None if HOLE in text else words.plain(text), self.word_marks)

    def _output_to(self, redirect: Any, made: Stream) -> Stream:
        if redirect.type == "heredoc_redirect":
            return self._heredoc_tail(redirect, made)
        operator = self._operator(redirect) if redirect.type == "file_redirect" else ""
        if not operator.startswith((">", "&>")):
            return made
        for target in self._destinations(redirect):
            if operator.endswith("&") and (target.isdigit() or target == "-"):
                continue
            self._check_device(target, redirect)
            if target.startswith("/dev/tcp/") and made.marks & {"file", "secret", "environment", "archive"}:
                self.harm("exfiltration", self.line(redirect))
            self.judge.write(self, target, self.line(redirect), made)
            if self.is_known and not target.startswith("/dev/"):
                self.acts.add("file-write")
        descriptor = redirect.child_by_field_name("descriptor")
        return made if descriptor is not None and self.text(descriptor) == "2" else EMPTY

    def _heredoc_tail(self, redirect: Any, made: Stream) -> Stream:
        """What is written after `<<EOF` on its line belongs to the command before it."""
        for child in redirect.named_children:
            match child.type:
                case "file_redirect":
                    made = self._output_to(child, made)
                case "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor":
                    continue
                case _:
                    made = self.run(child, made)
        return made
