"""Find where a query refers to tables, and put something else there; all other text stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.tokens import Token, tokenize
from anabranch.sql.moments import MOMENTS, Moment, Span, at_sign, changes, glued, moment
from anabranch.sql.version_statements import Argument


@dataclass(frozen=True)
class Reference:
    """A place in a text where a table, a system table or a frame in braces is read."""

    parts: tuple[str, ...]
    start: int
    end: int
    """The end, including the clause that says which state is meant."""
    moment: Moment | None = None
    changes: Span | None = None
    arguments: tuple[Argument, ...] | None = None
    """The arguments of a system table; None without brackets."""
    alias_at: int | None = None
    """Where to put an alias, if the text gives none."""
    frame: bool = False
    parameter: bool = False
    """Whether the name is a parameter's: `IDENTIFIER(:name)`."""

    @property
    def name(self) -> str:
        return ".".join(self.parts)


_CALLS_WITH_FROM = frozenset(("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "BTRIM", "LTRIM", "RTRIM"))
_AFTER_FROM = frozenset(
    ("WHERE", "HAVING", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "MINUS", "SELECT")
)
_BEFORE_BY = frozenset(("GROUP", "ORDER", "CLUSTER", "DISTRIBUTE", "SORT", "PARTITION"))
_JOIN_WORDS = ("ANTI", "ASOF", "CROSS", "FULL", "INNER", "JOIN", "LEFT", "NATURAL", "ON", "RIGHT", "SEMI", "USING")
_OTHER_WORDS = ("FOR", "FROM", "INSERT", "LATERAL", "PIVOT", "SET", "UNPIVOT", "VALUES", "WHEN")
_NO_ALIAS = _AFTER_FROM.union(_JOIN_WORDS, _OTHER_WORDS)
_SET_WORDS = frozenset(("UNION", "ALL", "DISTINCT", "INTERSECT", "EXCEPT", "MINUS"))
_FILES = frozenset(("parquet", "csv", "json", "orc", "text", "avro", "delta", "iceberg", "binaryfile", "xml"))


def find_references(text: str) -> list[Reference]:
    """List the tables, system tables and frames that a query reads, in the order of the text."""
    return list(_Finder(Cursor(text, tokenize(text))).found())


def as_names(text: str, tokens: Sequence[Token], expects: bool = False) -> list[Token]:
    """The tokens with each reference replaced by a single name; `expects` says whether they begin with one."""
    finder = _Finder(Cursor(text, tokens), [_Bracket(expects=expects, in_from=expects)])
    names = [Token("quoted", text[r.start : r.end], r.start, r.end) for r in finder.found()]
    made: list[Token] = []
    for token in tokens:
        if names and token.start >= names[0].start:
            made.append(names.pop(0))
        if token.kind == "end" or not made or token.start >= made[-1].end:
            made.append(token)
    return made


def splice(text: str, references: Sequence[Reference], names: Sequence[str | None]) -> str:
    """Replace each reference by a name, with an alias if the text gives none; None leaves a reference alone."""
    edits: list[tuple[int, int, str]] = []
    for reference, name in zip(references, names, strict=True):
        if name is None:
            continue
        edits.append((reference.start, reference.end, name))
        if reference.alias_at is not None:
            edits.append((reference.alias_at, reference.alias_at, f" AS {quoted(reference.parts[-1])}"))
        if len(reference.parts) > 1 and not reference.frame:
            edits.extend(_qualifiers(text, reference, references))
    # An alias inserted at the end of a replaced reference sorts after it.
    pieces, at = [], 0
    for start, end, new in sorted(dict.fromkeys(edits), key=lambda e: (e[0], e[1])):
        pieces += [text[at:start], new]
        at = end
    return "".join((*pieces, text[at:]))


def _qualifiers(text: str, reference: Reference, references: Sequence[Reference]) -> Iterator[tuple[int, int, str]]:
    """Edits that shorten columns qualified in full, `sales.orders.id`, to the table's new alias, its last part."""
    if reference.alias_at is None:
        return
    tokens, size = tokenize(text), 2 * len(reference.parts)
    wanted = [p.lower() for part in reference.parts for p in (part, ".")]
    inside = [(r.start, r.end) for r in references]
    for i in range(len(tokens) - size):
        found = [t.name.lower() for t in tokens[i : i + size]]
        first = tokens[i].start
        bare = i == 0 or not tokens[i - 1].is_symbol(".")
        if found == wanted and bare and not any(start <= first < end for start, end in inside):
            yield first, tokens[i + size - 2].start, ""


def quoted(name: str) -> str:
    """A name in backticks, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def arguments(cursor: Cursor) -> tuple[Argument, ...]:
    """Read the arguments of a system table, in brackets."""
    cursor.expect_symbol("(")
    found = [] if cursor.token.is_symbol(")") else cursor.listed(lambda: _argument(cursor))
    cursor.expect_symbol(")")
    return tuple(found)


def _argument(cursor: Cursor) -> Argument:
    token = cursor.token
    if token.kind == "string":
        return Argument(cursor.string(), "text")
    if token.kind == "parameter":
        return Argument(cursor.step().text[1:], "parameter")
    if token.kind == "number" or (token.is_symbol("-") and cursor.look().kind == "number"):
        sign = cursor.step().text if token.is_symbol("-") else ""
        return Argument(f"{sign}{cursor.step().text}", "number")
    if token.word == "NULL":
        cursor.step()
        return Argument("", "null")
    if token.is_name:
        return Argument(glued(cursor), "text")
    raise cursor.error("a text, a number, a name or a parameter")


@dataclass
class _Bracket:
    """What is known inside a pair of brackets, or at the top level."""

    call: str = ""
    """The function whose arguments these are."""
    expects: bool = False
    """Whether a relation comes next."""
    in_from: bool = False
    bare: bool = False
    """Whether the relation stands alone, after TABLE: it takes no alias."""
    paused: bool = False
    """Whether commas separate other things: names after LATERAL VIEW, rows of VALUES."""
    with_list: bool = False
    """Whether names of a WITH are being defined."""
    defining: str | None = None
    names: frozenset[str] = frozenset()
    """The names that WITH defined, in lower case."""


@dataclass
class _Finder:
    cursor: Cursor
    groups: list[_Bracket] = field(default_factory=lambda: [_Bracket()])

    @property
    def group(self) -> _Bracket:
        return self.groups[-1]

    def found(self) -> Iterator[Reference]:
        while not self.cursor.done:
            token, group = self.cursor.token, self.group
            if token.is_symbol("(", "[", "{"):
                self._open()
            elif token.is_symbol(")", "]", "}"):
                self._close()
            elif group.expects and (token.is_name or token.kind == "frame"):
                reference = self._relation()
                if reference is not None:
                    yield reference
            else:
                group.expects = False
                self._word(token)

    def _before(self, back: int = 1) -> Token:
        at = self.cursor.at - back
        return self.cursor.tokens[at] if at >= 0 else Token("end", "", 0, 0)

    def _open(self) -> None:
        before, group = self._before(), self.group
        call = before.word if before.is_name else ""
        relation = group.expects
        self.cursor.step()
        names = group.names | ({group.defining} if group.defining and self._recursive else frozenset())
        self.groups.append(_Bracket(call, expects=relation, in_from=relation, bare=group.bare, names=names))
        group.expects = group.bare = False

    _recursive = False

    def _close(self) -> None:
        self.cursor.step()
        if len(self.groups) > 1:
            self.groups.pop()
        group = self.group
        if group.defining and self.cursor.token.word != "AS":
            # The body of a name that WITH defines has ended.
            group.names |= {group.defining}
            group.defining = None
            group.with_list = self.cursor.token.is_symbol(",")

    def _word(self, token: Token) -> None:
        """Take a token that is not a relation, and note what it says about the next ones."""
        group, before = self.group, self._before()
        if before.is_symbol(".") and token.kind == "word":
            self.cursor.step()
            return
        if group.with_list and token.is_name and group.defining is None:
            group.defining = token.name.lower()
        elif token.word == "WITH" and self._defines():
            self._recursive = self.cursor.look().word == "RECURSIVE" and self.cursor.look(2).is_name
            if self._recursive:
                self.cursor.step()
            group.with_list = True
        elif token.word == "FROM":
            if not self._is_other_from():
                group.expects, group.in_from, group.paused = True, True, False
        elif token.word == "JOIN":
            group.expects, group.in_from, group.paused = True, True, False
        elif token.is_symbol(","):
            group.expects = group.in_from and not group.paused
        elif token.word == "LATERAL" and self.cursor.look().word == "VIEW":
            group.paused = True
        elif token.word == "TABLE" and self._starts_table():
            group.expects = group.bare = True
        elif token.word in _AFTER_FROM or token.is_symbol("|>") or self._is_by(token):
            group.in_from = False
        elif token.word == "AS" and group.paused and self._before(2).word != "VIEW":
            group.paused = self._in_view
        self.cursor.step()

    @property
    def _in_view(self) -> bool:
        """Whether an AS belongs to LATERAL VIEW: then the commas after it separate names."""
        at = self.cursor.at
        while at >= 0 and not self.cursor.tokens[at].is_symbol(";"):
            if self.cursor.tokens[at].word in ("FROM", "JOIN", "VALUES"):
                return False
            if self.cursor.tokens[at].word == "VIEW":
                return True
            at -= 1
        return False

    def _defines(self) -> bool:
        """Whether WITH defines names: `WITH a AS (`, `WITH RECURSIVE a (x) AS (`."""
        ahead = 2 if self.cursor.look().word == "RECURSIVE" and self.cursor.look(2).is_name else 1
        name, after = self.cursor.look(ahead), self.cursor.look(ahead + 1)
        if not name.is_name:
            return False
        return after.is_symbol("(") or (after.word == "AS" and self.cursor.look(ahead + 2).is_symbol("("))

    def _is_other_from(self) -> bool:
        """`EXTRACT(year FROM d)`, `a IS DISTINCT FROM b`."""
        distinct = self._before().word == "DISTINCT" and self._before(2).word in ("IS", "NOT")
        return distinct or self.group.call in _CALLS_WITH_FROM

    def _starts_table(self) -> bool:
        """`TABLE t` as a query, or `TABLE(t)` as an argument."""
        before, after = self._before(), self.cursor.look()
        starts = before.kind == "end" or before.word in _SET_WORDS or before.is_symbol("(", ",", "=>", ";")
        return starts and (after.is_name or after.is_symbol("("))

    def _is_by(self, token: Token) -> bool:
        return token.word in _BEFORE_BY and self.cursor.look().word == "BY"

    def _relation(self) -> Reference | None:
        """Take what is where a relation is expected; None if it is not one of our tables."""
        cursor, group = self.cursor, self.group
        token = cursor.token
        if token.kind == "frame":
            group.expects = False
            cursor.step()
            parts = (token.text[1:-1],)
            return self._with_alias(Reference(parts, token.start, token.end, frame=True))
        if token.word in ("SELECT", "FROM", "WITH", "MAP", "REDUCE") and not cursor.look().is_symbol("."):
            self._word(token)
            if token.word != "FROM":
                group.expects = group.in_from = False
            return None
        if token.word == "VALUES":
            group.expects, group.paused = False, True
            cursor.step()
            return None
        if token.word in ("LATERAL", "TABLE") and (cursor.look().is_name or cursor.look().is_symbol("(")):
            cursor.step()
            return None
        if token.word == "STREAM" and cursor.look().is_name and cursor.look().word not in _NO_ALIAS | {"AS"}:
            raise cursor.error("a table: versions of a table are no stream")
        group.expects = False
        return self._table()

    def _table(self) -> Reference | None:
        cursor = self.cursor
        start, named = cursor.token.start, None
        if cursor.token.word == "IDENTIFIER" and cursor.look().is_symbol("("):
            named = self._identifier(start)
        if named is None:
            parts = self._parts()
            if cursor.token.is_symbol("("):
                return self._call(parts, start)
            if self._is_foreign(parts):
                return None
            named = Reference(parts, start, self._before().end)
        return self._with_alias(self._with_moment(named))

    def _identifier(self, start: int) -> Reference:
        """`IDENTIFIER('sales.orders')`, `IDENTIFIER(:table)`."""
        cursor = self.cursor
        cursor.step(), cursor.step()
        token = cursor.token
        if token.kind not in ("string", "parameter"):
            raise cursor.error("a text or a parameter")
        cursor.step()
        cursor.expect_symbol(")")
        end = self._before().end
        if token.kind == "parameter":
            return Reference((token.text[1:],), start, end, parameter=True)
        return Reference(tuple(token.value.split(".")), start, end)

    def _parts(self) -> tuple[str, ...]:
        parts = [self.cursor.step().name]
        while self.cursor.token.is_symbol(".") and self.cursor.look().is_name:
            self.cursor.step()
            parts.append(self.cursor.step().name)
        return tuple(parts)

    def _is_foreign(self, parts: tuple[str, ...]) -> bool:
        """Tell whether a name was defined by WITH, or is a file that Spark reads by its path."""
        if len(parts) == 1:
            return parts[0].lower() in self.group.names and not self._says_when()
        return len(parts) == 2 and parts[0].lower() in _FILES and self._before().kind == "quoted"

    def _says_when(self) -> bool:
        cursor = self.cursor
        if cursor.token.is_symbol("@") or cursor.sees("FOR") or cursor.sees("CHANGES", "FROM"):
            return True
        return cursor.look().word == "AS" and cursor.look(2).word == "OF"

    def _call(self, parts: tuple[str, ...], start: int) -> Reference | None:
        """Take a table function; ours are in the namespace `ana`."""
        if parts[0].lower() != "ana" or len(parts) != 2:
            return None
        given = arguments(self.cursor)
        return self._with_alias(Reference(parts, start, self._before().end, arguments=given))

    def _with_moment(self, found: Reference) -> Reference:
        """Read `VERSION AS OF …` and its like, `@v…`, and `CHANGES …`."""
        cursor = self.cursor
        if cursor.token.is_symbol("@") and cursor.token.start == self._before().end:
            return replace(found, moment=at_sign(cursor), end=self._before().end)
        if cursor.sees("CHANGES", "FROM"):
            return replace(found, changes=changes(cursor), end=self._before().end)
        ahead = 1 if cursor.sees("FOR") else 0
        word = cursor.look(ahead).word
        kind = MOMENTS.get(word)
        if kind is None or cursor.look(ahead + 1).word != "AS" or cursor.look(ahead + 2).word != "OF":
            return found
        for _ in range(ahead + 3):
            cursor.step()
        return replace(found, moment=moment(cursor, kind), end=self._before().end)

    def _with_alias(self, found: Reference) -> Reference:
        """Take the relation's alias, if the text gives one; if not, note where to put one."""
        cursor, group = self.cursor, self.group
        if group.bare:
            group.bare = False
            return found
        if cursor.sees("TABLESAMPLE") and cursor.look().is_symbol("("):
            cursor.step()
            cursor.skip_brackets()
            if cursor.accept("REPEATABLE"):
                cursor.skip_brackets()
        end = self._before().end
        if cursor.accept("AS"):
            cursor.name("an alias")
            return found
        token = cursor.token
        keyword = token.word in _NO_ALIAS and not self._is_odd_alias()
        if token.is_name and not keyword and not self._is_by(token):
            cursor.step()
            return found
        return replace(found, alias_at=end)

    def _is_odd_alias(self) -> bool:
        """A word such as WHERE is an alias if another clause follows it at once."""
        token, after = self.cursor.token, self.cursor.look()
        return token.word in ("WHERE", "HAVING", "QUALIFY") and after.word in _AFTER_FROM
