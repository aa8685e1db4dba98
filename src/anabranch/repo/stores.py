"""Stores: where a catalogue and an object root are found; making, opening and dropping repositories in them."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from anabranch.catalog import objects, repositories, root_tokens
from anabranch.catalog.repositories import RepositoryRecord
from anabranch.catalog.store import Catalog, Connection, now
from anabranch.engines.choice import Engines
from anabranch.engines.far_root import FarRoot
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model import root_notes
from anabranch.model.addresses import is_server, shown_location
from anabranch.model.ids import BranchId, CommitId, LineId, new_id
from anabranch.model.names import check_ref_name, check_repository_name
from anabranch.model.object_urls import is_object_url, read_object_url
from anabranch.model.store_folder import CATALOG, FOLDER, OBJECTS, check_folder, is_in_same_folder, is_there
from anabranch.model.verification import KnownFault
from anabranch.objects.locations import open_root
from anabranch.objects.root import ObjectRoot
from anabranch.objects.soundness import Soundness
from anabranch.plan.engine import EngineSetting
from anabranch.repo.context.arguments import check_words
from anabranch.repo.context.context import Context, RowCache, default_author
from anabranch.repo.context.root_owner import RootOwner
from anabranch.repo.context.spark_copies import SparkCopies
from anabranch.repo.context.trusted import check_objects_trusted, note_typed_objects
from anabranch.settings import Settings


@dataclass(frozen=True)
class Options:
    """How a repository is opened."""

    spark: Any = None
    engine: EngineSetting = "auto"
    author: str | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.engine not in ("auto", "spark", "duck"):
            raise InvalidRequest(f"engine= is {self.engine!r}", hint="choose auto, spark or duck")
        check_words("open", self.author)


def make(location: str, repository: str | None, objects: str | None, branch: str, options: Options) -> Context:
    """Make a repository, and the store if it is not there yet; its first commit is empty."""
    check_ref_name(branch, "branch")
    name = check_repository_name(repository or _default_name(location))
    place = None if objects is None and is_server(location) else objects_location(location, objects)
    if place is not None:
        note_typed_objects(place)
        open_root(place)
    catalog = reach(location, options.settings, create=True)
    try:
        if not catalog.exists():
            _create(catalog, place or objects_location(location, objects))
        elif objects is not None and catalog.open()["objects"] != place:
            found = catalog.open()["objects"]
            raise InvalidRequest(f"the store keeps its objects at {found!r}", hint="leave the place of objects out")
        facts = catalog.open()
        with catalog.write() as cx:
            record = repositories.create(cx, name, branch)
            _write_first_commit(cx, record, facts["store_id"], options.author or default_author())
    except BaseException:
        catalog.close()
        raise
    return _context(location, catalog, record, facts, options)


def _create(catalog: Catalog, objects: str) -> None:
    """Make the store; if somebody else was faster, theirs is as good."""
    store_id = new_id("z")
    if is_object_url(objects):
        open_root(objects, store_id).claim()
    try:
        moment = catalog.now()
        catalog.create({"store_id": store_id, "objects": objects, "created_at": str(moment), **first_token(moment)})
        catalog.keep_room()
    except AlreadyExists:
        if not catalog.exists():
            raise


def _write_first_commit(cx: Connection, record: RepositoryRecord, store_id: str, author: str) -> None:
    """Publish an empty commit. What publishing needs is imported here: opening a repository does without."""
    from anabranch.catalog.publish import write_root
    from anabranch.model.clock import Position
    from anabranch.model.commits import BranchHead
    from anabranch.model.content import Content, Publication

    head = BranchHead(record.default_branch, BranchId(new_id("b")), Position(LineId(""), 0))
    commit = CommitId(new_id("k"))
    root = Publication(record.id, head, (), commit, author, "start", now(cx), (), "init", Content())
    write_root(cx, root, store_id)


def open_(location: str, repository: str | None, options: Options) -> Context:
    """Open a repository of a store that is there."""
    catalog = reach(location, options.settings, create=False)
    try:
        facts = catalog.open()
        with catalog.read() as cx:
            record = repositories.find(cx, repository)
    except BaseException:
        catalog.close()
        raise
    return _context(location, catalog, record, facts, options)


def sibling(ctx: Context, repository: str) -> Context:
    """The parts of another repository of a store that is open: all but its record are shared."""
    with ctx.catalog.read() as cx:
        return replace(ctx, record=repositories.find(cx, repository))


def names(location: str) -> list[str]:
    """List the repositories of a store."""
    with closing(reach(location, Settings(), create=False)) as catalog:
        catalog.open()
        with catalog.read() as cx:
            return repositories.names(cx)


def drop(location: str, repository: str) -> None:
    """Remove a repository with all its history. Who reads its objects now has a time of grace, as ever with gc."""
    with closing(reach(location, Settings(), create=False)) as catalog:
        catalog.open()
        with catalog.write() as cx:
            record = repositories.find(cx, repository)
            objects.seize(cx)
            repositories.drop(cx, record)


def reach(location: str, settings: Settings, *, create: bool) -> Catalog:
    """Reach the catalogue of a store; with `create` also one that is not there yet."""
    found = _reach(location, settings, create)
    found.has_damage = _has_damage
    return found


def _has_damage(cx: Connection) -> bool:
    from anabranch.catalog.checks.catalog import check_catalog

    damages, _ = check_catalog(cx)
    return any(not isinstance(damage, KnownFault) for damage in damages)


def _reach(location: str, settings: Settings, create: bool) -> Catalog:
    if is_server(location) or "://" in location:
        return Catalog.at_server(location, settings.server)
    check_folder(location)
    folder = Path(location) / FOLDER
    file = folder / CATALOG
    if create:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"no store can be made in {shown_location(location)!r}: {error.strerror or error}"
            raise InvalidRequest(message, hint="choose a folder that you can write to") from error
    elif not is_there(Path(location), CATALOG):
        hint = "make one first (`ana init`, ab.init)"
        shown = shown_location(location)
        raise NotFound(f"there is no store in {shown!r}: it has no {FOLDER}/{CATALOG}", hint=hint, store=shown)
    if file.is_symlink():
        message = f"{shown_location(str(file))!r} is a link: its objects would be looked for beside the link"
        raise InvalidRequest(message, hint="name the folder of the store that it leads to")
    return Catalog.at_file(str(file))


def _default_name(location: str) -> str:
    if is_server(location):
        return "main"
    return Path(location).absolute().name.replace(".", "_") or "main"


def objects_location(location: str, objects: str | None) -> str:
    """Where the objects of a new store go, as the catalogue will tell it."""
    if objects is not None:
        if is_object_url(objects):
            return read_object_url(objects).text
        if "://" in objects:
            return objects
        check_folder(objects)
        return str(Path(objects).absolute())
    if is_server(location):
        hint = "say where objects go, such as a folder (objects=, --objects)"
        raise InvalidRequest("a store on a server needs a place for its objects", hint=hint)
    return OBJECTS


def objects_at(location: str, facts: dict[str, str]) -> str:
    """Where the objects of a store are, which may be given relative to the catalogue."""
    objects = facts["objects"]
    return str(Path(location).absolute() / FOLDER / objects) if objects == OBJECTS else objects


def open_objects(location: str, facts: dict[str, str], settings: Settings) -> ObjectRoot:
    """Open the object root that a catalogue names. One in a folder may be a stranger's: its server must be trusted."""
    place = objects_at(location, facts)
    if not is_server(location):
        check_objects_trusted(place, settings.objects.trusted_servers)
    return open_root(place, facts["store_id"], settings)


def first_token(moment: int) -> dict[str, str]:
    """The fact of a new store that tells it from those made before there were tokens."""
    return {root_tokens.FACT: root_tokens.fact_of([root_tokens.RootToken(new_id(root_notes.PREFIX), moment)])}


def own_root(catalog: Catalog, root: ObjectRoot, facts: dict[str, str]) -> RootOwner:
    """Let a catalogue show before each upload that an object root is its own."""
    is_beside = catalog.is_in_folder and facts["objects"] == OBJECTS and is_in_same_folder(root.where, catalog.shown)
    owner = RootOwner(catalog, root, is_beside)
    root.before_upload = owner.renew
    return owner


def _context(
    location: str, catalog: Catalog, record: RepositoryRecord, facts: dict[str, str], options: Options
) -> Context:
    place = objects_at(location, facts)
    root = open_objects(location, facts, options.settings)
    far = FarRoot(read_object_url(place).scheme, root.spark_options()) if root.is_far else None
    owner = own_root(catalog, root, facts)
    sound = Soundness(root, options.settings.damage)
    made = Context(
        catalog,
        root,
        sound,
        record,
        facts["store_id"],
        Engines(options.engine, options.spark, options.settings, sound.at_hand, sound.before_spark, far),
        options.settings,
        RowCache(options.settings.memory.cache_limit_bytes),
        SparkCopies(root, options.settings),
        options.author or default_author(),
        owner,
        _run_sql,
    )
    root.is_collected = made.is_collected
    _opened[id(made)] = made
    return made


def _run_sql(*given: Any) -> Any:
    """Run SQL inside an unfinished commit; loaded when it is first asked for."""
    from anabranch.repo.sql.sql import run_in

    return run_in(*given)


_opened: WeakValueDictionary[int, Context] = WeakValueDictionary()
"""Open repositories stay usable in forked processes."""


def _start_anew() -> None:
    for ctx in list(_opened.values()):
        ctx.catalog.start_anew()
        ctx.engines.start_anew()
        ctx.owner.start_anew()


if hasattr(os, "register_at_fork"):  # Not on Windows.
    os.register_at_fork(after_in_child=_start_anew)
