"""What may follow a value in a statement, recognised by descent over tokens.

A recogniser: it answers how far the tokens read as SQL, and what they hold that a sentence does not.
"""

from typing import Final

from qwed_open_responses.sql_tokens import NAME, NUMBER, SIGN, STOP, STRING, WORD, SqlToken

_COMPARISONS: Final = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "<=>"})
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "%", "|", "&", "^", "||"})
_CONNECTIVE_WORDS: Final = frozenset({"or", "and", "xor"})
_CONNECTIVE_SIGNS: Final = frozenset({"||", "&&"})
_MATCHES: Final = frozenset({"like", "rlike", "regexp", "ilike", "glob", "match"})
_CONSTANTS: Final = frozenset({"true", "false", "null", "unknown"})
# Functions that only somebody who probes a database calls in a value.
PROBES: Final = frozenset(
    """
    sleep pg_sleep benchmark randomblob extractvalue updatexml load_file xp_cmdshell receive_message dbms_pipe
    load_extension utl_http utl_inaddr sys_eval sys_exec dblink_connect lo_import pg_read_file waitfor version
    database current_user group_concat ascii substring substr
    """.split()  # noqa: SIM905 - a word list
)
# `time.sleep` is another program's.
_PACKAGES: Final = ("dbms", "utl", "sys", "pg_", "dbo", "master", "ctxsys", "ordsys")
_CLAUSES: Final = frozenset(
    """
    from where group order having limit union intersect except into on as asc desc offset procedure for then
    else end
    when and or xor like rlike regexp in is between not using set values
    """.split()  # noqa: SIM905 - a word list
)
_MAX_DEPTH: Final = 24


class SqlReader:
    """Reads from a place onwards; `notes` is what was met on the way."""

    def __init__(self, tokens: list[SqlToken]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.notes: set[str] = set()

    # Where the reader stands

    @property
    def token(self) -> SqlToken | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def is_done(self) -> bool:
        token = self.token
        return token is None or token.kind == STOP

    @property
    def stops_early(self) -> bool:
        """Whether a comment cuts off the rest of the statement."""
        token = self.token
        return token is not None and token.kind == STOP

    def take_word(self, *words: str) -> bool:
        token = self.token
        if token is not None and token.word in words:
            self._at += 1
            return True
        return False

    def take_sign(self, *signs: str) -> bool:
        token = self.token
        if token is not None and token.kind == SIGN and token.text in signs:
            self._at += 1
            return True
        return False

    def take(self, kind: str) -> SqlToken | None:
        token = self.token
        if token is not None and token.kind == kind:
            self._at += 1
            return token
        return None

    def rest_of(self, text: str) -> str:
        token = self.token
        return "" if token is None else text[token.start :]

    # What follows a value

    def continuation(self) -> bool:
        """Whether what follows a value goes on with the statement and ends as one does."""
        while self.take_sign(")"):
            self.notes.add("closes")
        if self.is_done:
            return False
        found = self._condition() or self._set_operation() or self._clause()
        return found and self._is_at_the_end()

    def _is_at_the_end(self) -> bool:
        while self.take_sign(")"):
            pass
        while self._clause() or self._set_operation():
            pass
        if self.take_sign(";"):
            self.notes.add("ends")
            return self.is_done
        if self.stops_early:
            self.notes.add("ends")
        return self.is_done

    def _condition(self) -> bool:
        token = self.token
        if token is None:
            return False
        if token.word in _CONNECTIVE_WORDS or (token.kind == SIGN and token.text in _CONNECTIVE_SIGNS):
            self._at += 1
            self.notes.add("connects")
            return self.expression()
        if token.word in _MATCHES | {"in", "is", "between", "not"} or (
            token.kind == SIGN and token.text in _COMPARISONS | _ARITHMETIC
        ):
            self.notes.add("goes on")
            return self._tail(0)
        return False

    def _set_operation(self) -> bool:
        if not self.take_word("union", "intersect", "except", "minus"):
            return False
        self.take_word("all", "distinct")
        opened = 0
        while self.take_sign("("):
            opened += 1
        if not self.take_word("select"):
            return False
        self.notes.add("unites")
        return self.query()

    def _clause(self) -> bool:
        if self.take_word("order", "group"):
            self.notes.add("sorts")
            return self.take_word("by") and self._list()
        if self.take_word("having", "where"):
            self.notes.add("sorts")
            return self.expression()
        if self.take_word("limit", "offset"):
            self.notes.add("sorts")
            return self._list()
        if self.take_word("procedure"):
            self.notes.add("calls")
            return self._operand()
        if self.take_word("into"):
            self.notes.add("writes")
            return self.take_word("outfile", "dumpfile") and self.take(STRING) is not None
        if self.take_word("waitfor"):
            self.notes.add("probes")
            return self.take_word("delay", "time") and self.take(STRING) is not None
        return False

    # Expressions

    def expression(self) -> bool:
        return self._operand() and self._tail(0)

    def _tail(self, count: int) -> bool:
        """Any number of operators with their operands."""
        while count < 200:
            count += 1
            token = self.token
            if token is None or token.kind == STOP:
                return True
            if token.kind == SIGN and token.text in _COMPARISONS:
                self._at += 1
                self.notes.add("compares")
            elif token.kind == SIGN and token.text in _ARITHMETIC | _CONNECTIVE_SIGNS | {"::"}:
                self._at += 1
            elif token.word in _MATCHES:
                self._at += 1
                self.notes.add("compares")
            elif token.word in _CONNECTIVE_WORDS:
                self._at += 1
            elif token.word in ("is", "in", "between", "not"):
                if not self._predicate():
                    return False
                continue
            else:
                return True
            if not self._operand():
                return False
        return True

    def _predicate(self) -> bool:
        self.take_word("not")
        if self.take_word("is"):
            self.take_word("not")
            self.notes.add("compares")
            return self.take_word(*_CONSTANTS)
        if self.take_word("in"):
            self.notes.add("compares")
            return self._operand()
        if self.take_word("between"):
            self.notes.add("compares")
            return self._operand() and self.take_word("and") and self._operand()
        if self.take_word(*_MATCHES):
            self.notes.add("compares")
            return self._operand()
        return False

    def _operand(self) -> bool:
        self._depth += 1
        try:
            return self._depth <= _MAX_DEPTH and self._read_operand()
        finally:
            self._depth -= 1

    def _read_operand(self) -> bool:
        while self.take_sign("-", "+", "!", "~") or self.take_word("not", "binary", "distinct"):
            pass
        if self.take(NUMBER):
            self.notes.add("constant")
            return True
        if text := self.take(STRING):
            self.notes.add("constant" if len(text.text) > 2 else "empty")
            return True
        if self.take(NAME):
            return True
        if self.take_sign("("):
            return self._parenthesis()
        if self.take_sign("*"):
            return True
        if self.take_word("case"):
            return self._case()
        return self._is_named()

    def _parenthesis(self) -> bool:
        if self.take_word("select"):
            self.notes.add("selects")
            if not self.query():
                return False
        elif not self._list():
            return False
        # The host closes what is left open.
        return self.take_sign(")") or self.is_done

    def _case(self) -> bool:
        self.notes.add("calls")
        if not self.take_word("when") and not (self.expression() and self.take_word("when")):
            return False
        while True:
            if not self.expression() or not self.take_word("then") or not self.expression():
                return False
            if not self.take_word("when"):
                break
        if self.take_word("else") and not self.expression():
            return False
        return self.take_word("end")

    def _is_named(self) -> bool:
        token = self.token
        if token is None or token.kind != WORD or token.word in _CLAUSES:
            return False
        self._at += 1
        names = [token.word]
        while self.take_sign(".", ".."):
            inner = self.take(WORD) or self.take(NAME)
            if inner is None and not self.take_sign("*"):
                return False
            names.append(inner.text.lower() if inner else "*")
        if token.text.startswith("@@") or token.word in _CONSTANTS:
            self.notes.add("constant")
        if not self.take_sign("("):
            return True
        self.notes.add("calls")
        if names[-1] in PROBES and (len(names) == 1 or names[0].startswith(_PACKAGES)):
            self.notes.add("probes")
        return self.take_sign(")") or (self._list() and (self.take_sign(")") or self.is_done))

    def _list(self) -> bool:
        """Expressions with commas between, each perhaps with another name or a direction."""
        while True:
            if self.take_word("select"):
                self.notes.add("selects")
                if not self.query():
                    return False
            elif not self.expression():
                return False
            self.take_word("asc", "desc")
            if self.take_word("as") and not (self.take(WORD) or self.take(STRING)):
                return False
            if not self.take_sign(","):
                return True
            self.notes.add("lists")

    def query(self) -> bool:
        self.take_word("all", "distinct", "top")
        if not self._list():
            return False
        self._take_alias()
        if self.take_word("from"):
            self.notes.add("from")
            if not self._tables():
                return False
        while self._clause() or self._set_operation():
            pass
        return True

    def _take_alias(self) -> None:
        token = self.token
        if token is not None and token.kind in (WORD, NAME) and token.word not in _CLAUSES:
            self._at += 1

    def _tables(self) -> bool:
        while True:
            if not self._operand():
                return False
            self.take_word("as")
            self._take_alias()
            if not self.take_sign(","):
                return True
