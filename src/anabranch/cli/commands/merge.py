"""`ana merge`: bring branches into one; a merge with conflicts stays open, as in git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import CONFLICTS, BadUsage
from anabranch.cli.name_completion import branches, refs
from anabranch.cli.options import make_command, paragraphs, rules, side_of
from anabranch.cli.output.commits import commit_line, counts_text
from anabranch.cli.output.conflicts import STRICTNESSES, conflict_lines, conflicts_document, next_steps
from anabranch.cli.output.text import clean, columns, emit, emit_json, paint, plural, short, show_lines
from anabranch.cli.session import Session
from anabranch.documents.records import commit_document
from anabranch.errors import AnabranchError, MergeConflict

if TYPE_CHECKING:
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.request import MergeResult

_NO_COMMIT = {"commit": None, "fast_forward": False, "up_to_date": False}


@make_command("merge", short_help="Merge branches into the current one.")
@click.argument("sources", metavar="[SOURCE...]", nargs=-1, shell_complete=refs)
@click.option("--into", metavar="BRANCH", shell_complete=branches, help="The branch that moves (the current one).")
@click.option("-m", "--message", multiple=True, callback=paragraphs, help="What the merge commit says.")
@click.option("--ff-only", is_flag=True, help="Refuse to make a merge commit.")
@click.option("--no-ff", is_flag=True, help="Make a commit even where the branch could just move on.")
@click.option("--squash", is_flag=True, help="One commit, without the merged branches as parents.")
@click.option("--replay", is_flag=True, help="Copy the commits one by one.")
@click.option("--rule", metavar="TABLE[.COLUMN]=RULE", multiple=True, callback=rules, help="Decide cells by a rule.")
@click.option("--strictness", type=click.Choice(STRICTNESSES), default="cell", help="What conflicts (cell).")
@click.option("--ours", is_flag=True, help="Where both changed something, keep what is here.")
@click.option("--theirs", is_flag=True, help="Where both changed something, take what comes in.")
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option("--continue", "goes_on", is_flag=True, help="Publish the open merge.")
@click.option("--abort", is_flag=True, help="Abandon the open merge.")
def command(session: Session, sources: tuple[str, ...], into: str | None, **chosen: Any) -> None:
    """Merge SOURCE into the current branch, row by row and cell by cell; several make one commit.

    Where both changed one cell differently nothing is published: the merge stays open (exit code 1) until `ana
    resolve` has settled all conflicts and `ana merge --continue` publishes it. RULE is conflict, ours, theirs,
    newest, min, max, sum, coalesce, union, or SQL over base, ours and theirs.

    \b
    $ ana merge dev
    $ ana merge dev --rule orders.price=max --rule '*=theirs'
    $ ana merge dev --dry-run
    $ ana merge --continue

    JSON: branch, commit (null if nothing was published), fast_forward, up_to_date, counts (by table: inserted,
    updated, deleted, cells), open (whether the merge stays open), conflicts (count, tables: list of table, count;
    schema, objects, violations), or aborted (sources).
    """
    branch = session.branch_or_current(into)
    _check(sources, chosen)
    chosen["take"] = side_of(ours=chosen["ours"], theirs=chosen["theirs"])
    if chosen["abort"]:
        _abort(session, branch)
    elif chosen["goes_on"]:
        _go_on(session, branch, chosen["message"])
    elif chosen["dry_run"]:
        _dry_run(session, branch, [session.ref(s) for s in sources], chosen)
    else:
        session.refuse_open(branch)
        _merge(session, branch, [session.ref(s) for s in sources], chosen)


def _check(sources: tuple[str, ...], chosen: dict[str, Any]) -> None:
    ends = chosen["goes_on"] or chosen["abort"]
    if bool(sources) == bool(ends):
        problem = "--continue and --abort name no SOURCE" if sources else "no branch to merge is named"
        raise BadUsage(problem, hint="ana merge SOURCE, or ana merge --continue")
    for one, other in (("ff_only", "no_ff"), ("squash", "replay"), ("goes_on", "abort")):
        if chosen[one] and chosen[other]:
            names = [f"--{n}".replace("goes_on", "continue").replace("_", "-") for n in (one, other)]
            raise BadUsage(f"{' and '.join(names)} contradict each other", hint="give one of them")


def _merge(session: Session, branch: str, sources: list[str], chosen: dict[str, Any]) -> None:
    settings = {
        "message": chosen["message"],
        "rules": {**({"*": chosen["take"]} if chosen["take"] else {}), **chosen["rule"]},
        "strictness": chosen["strictness"],
        "mode": "squash" if chosen["squash"] else "replay" if chosen["replay"] else "merge",
        "ff": "only" if chosen["ff_only"] else "never" if chosen["no_ff"] else "auto",
    }
    with session.progress(f"merging {', '.join(sources)} into {branch}"):
        try:
            result: MergeResult | None = session.repo.merge(sources, branch, **settings)
        except MergeConflict as error:
            if chosen["replay"]:
                error.hint = "a replay can't wait: give rules (--rule), or merge without --replay"
                raise
            kept = session.repo.start_merge(sources, branch, **settings)
            result = _taken(kept, chosen["take"])
    if result:
        _report(session, branch, result)
    else:
        _report_conflicts(session, kept)


def _taken(kept: OpenMerge, side: Any) -> MergeResult | None:
    """Let a side win what rules can't decide, such as a row that one side deleted; None if conflicts are left."""
    try:
        for table in _names(kept.conflicts) if side else ():
            kept.resolve(table, take=side)
    except AnabranchError:
        kept.abort()
        raise
    return None if kept.conflicts else kept.finish()


def _names(conflicts: Conflicts) -> list[str]:
    """The tables and namespaces that are in conflict themselves or have rows that are."""
    things = [t for t in (*conflicts.objects, *conflicts.schema) if t not in conflicts.clashes]
    return sorted({*conflicts, *(thing["table"] for thing in things)})


def _go_on(session: Session, branch: str, message: str | None) -> None:
    kept: Any = session.open_work(branch, "merge")
    with session.progress("publishing the merge"):
        left = kept.conflicts
        result = None if left else kept.finish(message)
    if result:
        _report(session, branch, result)
    else:
        _report_conflicts(session, kept)


def _abort(session: Session, branch: str) -> None:
    kept = session.open_work(branch, "merge")
    kept.abort()
    session.tell(
        {"branch": branch, "aborted": kept.sources},
        f"The merge of {clean(', '.join(kept.sources))} into {branch} is given up; nothing was changed.",
    )


def _dry_run(session: Session, branch: str, sources: list[str], chosen: dict[str, Any]) -> None:
    named = {**({"*": chosen["take"]} if chosen["take"] else {}), **chosen["rule"]}
    with session.progress(f"merging {', '.join(sources)} into {branch}, to look at"):
        found = session.repo.preview(sources, branch, rules=named, strictness=chosen["strictness"])
        counts = {} if found.conflicts else found.diff().counts()
    session.exit_code = CONFLICTS if found.conflicts else 0
    if session.json:
        emit_json(
            {
                "branch": branch,
                **_NO_COMMIT,
                "open": False,
                "counts": counts,
                "conflicts": conflicts_document(found.conflicts),
            }
        )
        return
    names = clean(", ".join(sources))
    if found.conflicts:
        emit(f"A merge of {names} into {branch} would have {plural(found.conflicts.count(), 'conflict')}:")
        _emit_conflicts(found.conflicts)
    else:
        emit(f"A merge of {names} into {branch} would {'change:' if counts else 'change nothing.'}")
        _emit_counts(counts)


def _report(session: Session, branch: str, result: MergeResult) -> None:
    if session.json:
        facts = {"fast_forward": result.fast_forward, "up_to_date": result.up_to_date, "counts": result.counts}
        emit_json({"branch": branch, "commit": commit_document(result.commit), **facts, "open": False})
    elif result.up_to_date:
        emit(f"{branch} has all of it already.")
    else:
        if result.fast_forward:
            emit(f"Fast-forward: {branch} is at {short(result.commit.hash)} ({result.commit.id})")
        else:
            emit(commit_line(branch, result.commit))
        _emit_counts(result.counts)


def _report_conflicts(session: Session, kept: OpenMerge) -> None:
    session.exit_code = CONFLICTS
    conflicts = kept.conflicts
    if session.json:
        facts: dict[str, Any] = {"branch": kept.into, **_NO_COMMIT, "counts": {}, "open": True}
        emit_json({**facts, "conflicts": conflicts_document(conflicts)})
        return
    what = f"The merge of {clean(', '.join(kept.sources))} into {kept.into} is open"
    emit(paint(f"{what}: {plural(conflicts.count(), 'conflict')}.", "yellow"))
    _emit_conflicts(conflicts)
    show_lines(next_steps(conflicts, kept.into, session.branch))


def _emit_conflicts(conflicts: Conflicts) -> None:
    show_lines(paint(line, "red") for line in conflict_lines(conflicts))


def _emit_counts(counts: dict[str, dict[str, int]]) -> None:
    rows = [(clean(name), counts_text(found)) for name, found in counts.items()]
    show_lines(f"  {line}" for line in columns(rows))
