"""`ana config`: what the commands go by, in this folder or everywhere."""

from __future__ import annotations

from dataclasses import replace

import click

from anabranch.cli import preferences
from anabranch.cli import remembered as state
from anabranch.cli.failures import BadUsage
from anabranch.cli.options import make_command
from anabranch.cli.output.text import clean, columns
from anabranch.cli.preferences import Preference
from anabranch.cli.session import Session
from anabranch.errors import InvalidRequest, NotFound

UNSET = 1
"""The exit code for a setting that has no value, as in git."""


@make_command("config", short_help="Show or change settings.")
@click.argument("name", required=False)
@click.argument("value", required=False)
@click.option("--list", "listed", is_flag=True, help="List all settings, as without a NAME.")
@click.option("--unset", metavar="NAME", help="Go back to the default.")
@click.option("--global", "everywhere", is_flag=True, help="For all folders of yours, not just this one.")
def command(
    session: Session, name: str | None, value: str | None, listed: bool, unset: str | None, everywhere: bool
) -> None:
    """Show the settings, or change NAME to VALUE: author, engine, colour (auto, always, never), pager (a command),
    url_allow (places that files may be fetched from).

    What this folder says goes before what you say for all (--global); the pager, which is a command that runs, and
    url_allow are yours alone. Exit code 1: NAME has no value.

    \b
    $ ana config
    $ ana config author 'Ann Smith'
    $ ana config engine
    $ ana config --unset engine

    JSON: settings (list of name, value, where: folder, user or default); or name, value, where.
    """
    if bool(name) + listed + bool(unset) > 1:
        raise BadUsage("NAME, --list and --unset exclude each other", hint="see `ana config --help`")
    if unset is not None:
        _change(session, preferences.check_name(unset), None, everywhere)
    elif name is None:
        _list(session)
    elif value is None:
        _show(session, preferences.check_name(name))
    else:
        _change(session, name, preferences.check_value(preferences.check_name(name), value), everywhere)


def _in_force(session: Session) -> list[Preference]:
    """The settings, also where there is no store."""
    try:
        folder = session.place.state.preferences
    except NotFound:
        folder = {}
    return preferences.in_force(folder)


def _list(session: Session) -> None:
    found = _in_force(session)
    session.tell(
        {"settings": [vars(preference) for preference in found]},
        columns([(p.name, clean(p.value) or "-", p.where) for p in found]),
    )


def _show(session: Session, name: str) -> None:
    found = next(p for p in _in_force(session) if p.name == name)
    session.exit_code = 0 if found.value else UNSET
    session.tell(vars(found), clean(found.value) if found.value else ())


def _change(session: Session, name: str, value: str | None, everywhere: bool) -> None:
    if value is not None and preferences.KNOWN[name].own and not everywhere:
        hint = f"`ana config --global {name} …` sets it for all folders of yours"
        raise InvalidRequest(f"{name} is a command that runs, so no folder can choose it", hint=hint)
    before = preferences.load_user() if everywhere else session.place.state.preferences
    after = {key: text for key, text in before.items() if key != name} | ({name: value} if value is not None else {})
    if everywhere:
        state.write_document(preferences.user_file(), after)
    else:
        state.save(session.folder, replace(session.place.state, preferences=after))
    where = "user" if everywhere else "folder"
    session.tell(
        {"name": name, "value": value, "where": where},
        f"{name} is {clean(value)}" if value is not None else f"{name} is not set any more",
    )
