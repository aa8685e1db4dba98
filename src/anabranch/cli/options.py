"""The options that every command takes, before or after its name, and the classes that add them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.preferences import ENGINES
from anabranch.cli.session import Session
from anabranch.errors import InvalidRequest


def global_options(hidden: bool = False) -> list[click.Option]:
    """Make the options that every command takes; a command's own help shows only --json."""
    store = {"metavar": "PATH|URL", "help": "The store: a folder, or postgresql://…", "hidden": hidden}
    return [
        _option("--store", **store, envvar=None if hidden else "ANABRANCH_STORE", show_envvar=True),
        _option("--repository", metavar="NAME", help="The repository, if the store has several.", hidden=hidden),
        _option("--engine", type=click.Choice(ENGINES), help="What runs the work (auto).", hidden=hidden),
        _option("--json", is_flag=True, default=None, help="Print one JSON document."),
        _option("--debug", is_flag=True, default=None, help="Show tracebacks and the debug log.", hidden=hidden),
    ]


def _option(name: str, **settings: Any) -> click.Option:
    return click.Option([name], expose_value=False, callback=_remember, **settings)


def _remember(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None and option.name:
        choices = ctx.ensure_object(Session).choices
        setattr(choices, option.name, value)
        if option.name == "store":
            source = ctx.get_parameter_source("store")
            choices.store_by_habit = source is click.core.ParameterSource.ENVIRONMENT


class Command(click.Command):
    """A command that gets the session as its first argument, and takes the global options after its name, too."""

    def __init__(self, name: str | None, callback: Callable[..., Any], **settings: Any) -> None:
        super().__init__(name, callback=click.make_pass_decorator(Session)(callback), **settings)
        own = {param.name for param in self.params}
        self.params.extend(o for o in global_options(hidden=True) if o.name not in own)


class TablesLast(Command):
    """A command whose arguments after `--` are tables."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["tables"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


class CommandGroup(click.Group):
    """A command with subcommands."""

    command_class = Command

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.extend(global_options(hidden=True))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise BadUsage(f"`{ctx.command_path}` has no command {args[0]!r}", hint=self._nearest(ctx, args[0]))
        return super().resolve_command(ctx, args)

    def _nearest(self, ctx: click.Context, word: str) -> str:
        near, (first, *others) = get_close_matches(word, self.commands, n=1), self.commands
        if not near and not others:
            return f"did you mean `{ctx.command_path} {first} {word}`?"
        return f"did you mean `{ctx.command_path} {near[0]}`?" if near else f"it has {', '.join(self.commands)}"


make_command = partial(click.command, cls=Command)
"""Makes a command of a function."""


def side_of(**given: bool) -> str | None:
    """The chosen side, such as ours; more than one is refused."""
    chosen = [side for side, is_chosen in given.items() if is_chosen]
    if len(chosen) > 1:
        options = " and ".join(f"--{side}" for side in chosen)
        raise BadUsage(f"{options} contradict each other", hint="give one of them")
    return chosen[0] if chosen else None


def names(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Read `a,b` as two names."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def paragraphs(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> str | None:
    """Join several -m into one message, as git does."""
    message = "\n\n".join(texts)
    if texts and not message.strip():
        raise InvalidRequest("a commit needs a message", hint="say what it does and why")
    return message if texts else None


def renames(_ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read each `OLD=NEW`, split at the last =, as an old name and a new one."""
    pairs = [text.rpartition("=") for text in texts]
    for text, (old, _, new) in zip(texts, pairs, strict=True):
        if not old or not new:
            raise BadUsage(f"{option.opts[0]} says {text!r}", hint="say OLD=NEW")
    found = {old: new for old, _, new in pairs}
    if len(found) < len(pairs):
        raise BadUsage(f"{option.opts[0]} names a column twice", hint="give it one name")
    return found


def rules(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read each `orders.price=max` as a rule."""
    return pairs(texts, "--rule", "TABLE[.COLUMN]=RULE")


def pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Read each `name=value`."""
    found = {}
    for text in texts:
        name, is_pair, value = text.partition("=")
        if not is_pair or not name.strip() or not value.strip():
            raise BadUsage(f"{option} {text!r} can't be read", hint=f"write it as {form}")
        found[name.strip()] = value.strip()
    return found


FORMATS = ("csv", "json", "parquet")


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how text files are written."""
    for option in reversed(_READING):
        function = option(function)
    return function


def text_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, under the repository's names."""
    return {name: value for name, value in given.items() if value is not None}


_READING = (
    click.option("--delimiter", metavar="CHAR", help="CSV: between fields; `tab` too (,)."),
    click.option("--header/--no-header", default=None, help="CSV: whether the first line names the columns (it does)."),
    click.option("--quote", metavar="CHAR", help='CSV: around fields; `none` for no quotes (").'),
    click.option("--escape", metavar="CHAR", help="CSV: before a quote in a field; else quotes are doubled."),
    click.option(
        "--null", "nulls", metavar="TEXT", multiple=True, help="CSV: a text that stands for null; empty always does."
    ),
    click.option("--encoding", metavar="NAME", help="utf-8, latin-1, cp1252 or utf-16 (utf-8)."),
    click.option("--skip", type=click.IntRange(min=0), metavar="N", help="CSV: lines before the header to leave out."),
    click.option("--decimal-comma", is_flag=True, default=None, help="CSV: numbers are written 1,5."),
    click.option("--date-format", metavar="FORMAT", help="How dates are written, such as %d/%m/%Y."),
    click.option("--timestamp-format", metavar="FORMAT", help="How times are written, such as '%d/%m/%Y %H:%M'."),
)
