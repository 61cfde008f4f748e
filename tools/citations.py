"""The source of the figures in a generated part: card, date and revision, and what has changed since they were
measured.

Nothing is compiled: the hash in a row identifies its code, and the hash of a text identifies today's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gemmbench.backends.code_hash import hash_code, hash_file
from gemmbench.bench.experiments.batch import METHOD
from gemmbench.bench.origin import Origin, split_origins
from gemmbench.bench.record import Environment, Record
from gemmbench.errors import SpecError
from gemmbench.planning.manifests.catalog import MARK, Catalog, read_variant
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.expansion import make_plans, read_pass
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.source_tree import CHANGED, find_tree, is_complete
from gemmbench.report.comparison import Comparison
from gemmbench.report.store.reading import read_environment
from tools.page import ROOT, Page


@dataclass(frozen=True)
class Citation:
    """The file of a part, the source of its figures, and how today's measurement would differ.

    `earlier` are the kernels whose code was different, `unchecked` says that this cannot be determined, and
    `old_method` that the method of measuring was different.
    """

    file: Path
    card: str
    date: str
    revision: str
    earlier: tuple[str, ...] = ()
    unchecked: bool = False
    old_method: bool = False

    @property
    def difference(self) -> str:
        """`measured by an earlier method, with earlier code: tiled`; "" if nothing is known to differ."""
        method = ["by an earlier method"] if self.old_method else []
        code = [f"with earlier code: {', '.join(self.earlier)}"] if self.earlier else []
        code = ["with code that cannot be checked"] if self.unchecked else code
        return f"measured {', '.join([*method, *code])}" if method or code else ""

    @property
    def when(self) -> str:
        """`2026-11-27, revision eee01e5a545d`, and the differences."""
        changed = " with changes" if self.revision.endswith(CHANGED) else ""
        name = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{28}\b", r"\1", self.revision.rstrip(CHANGED))
        revision = f"{name}{changed}" if name else "not recorded"
        return "; ".join(filter(None, (f"{self.date}, revision {revision}", self.difference)))

    def __str__(self) -> str:
        return f"{self.card}, {self.when}."

    @property
    def fault(self) -> str:
        """Why a release must not show it; "" if it may."""
        unnamed = "the revision has changes" if self.revision.endswith(CHANGED) else ""
        return "; ".join(filter(None, (self.difference, unnamed)))


def cite_run(page: Page, comparison: Comparison, records: Iterable[Record]) -> Citation:
    """Cite the rows of a run that a part of the page shows."""
    environment = comparison.environment
    unchecked = not environment.tree  # the hashes of older files were made in another way
    return page.cite(
        Citation(
            file=comparison.run.path,
            card=_shorten_card(environment.device),
            date=environment.started[:10],
            revision=environment.revision,
            earlier=() if unchecked else tuple(_list_earlier(environment, records)),
            unchecked=unchecked,
            old_method=environment.policy.get("method") != METHOD,
        )
    )


def cite_text(page: Page, path: Path, origin: Origin | None, shown: str) -> Citation:
    """Cite a text or a table that is not a results file and of which the page shows a part; everything in it belongs to
    its files of kernels.
    """
    if origin is None:  # an older file; its name has the date, and its folder the card
        card = path.parent.name.rpartition("-")[2].upper()
        return page.cite(Citation(path, card, path.name[: len("2026-11-27")], "", unchecked=True))
    named = [name for name in origin.code if "/" in name or re.search(rf"\b{re.escape(name)}\b", shown)]
    return page.cite(
        Citation(
            file=path,
            card=_shorten_card(origin.card),
            date=origin.date[:10],
            revision=origin.revision,
            earlier=tuple(name for name in named if origin.code[name] != _hash_named(name)),
            old_method=origin.method != METHOD,
        )
    )


def cite_whole(page: Page, path: Path) -> Citation:
    """Cite a file of results/ as a whole, whatever has changed since."""
    if ".jsonl" in path.suffixes:
        environment = read_environment(path)
        card, date, revision = environment.device, environment.started, environment.revision
    else:
        origin = next((origin for origin, _ in split_origins(path.read_text(encoding="utf-8")) if origin), None)
        if origin is None:
            return cite_text(page, path, None, "")
        card, date, revision = origin.card, origin.date, origin.revision
    return page.cite(Citation(path, _shorten_card(card), date[: len("2026-11-27")], revision))


def _shorten_card(name: str) -> str:
    return name.removeprefix("NVIDIA ")


@lru_cache(maxsize=1)
def _read_catalog() -> Catalog:
    return Catalog([ROOT / "cuda"])


def _find_variant(name: str, path: str = "") -> Variant | None:
    """The kernel of this name in cuda/, or in this file of the repository; None if there is none to read."""
    try:
        if name in _read_catalog().names:
            return _read_catalog().get(name)
        return read_variant(ROOT / path) if path and (ROOT / path).is_file() else read_pass(name)
    except SpecError:
        return None


def _hash_named(name: str) -> str:
    """The hash of a kernel or of a file today; "" if there is none."""
    if "/" in name:
        return hash_file(ROOT / name)
    variant = _find_variant(name)
    return hash_code(variant) if variant else ""


def _list_earlier(environment: Environment, records: Iterable[Record]) -> list[str]:
    """The variants that have a row with code other than today's, in the order of the rows."""
    checked = [record for record in records if record.code and MARK not in record.variant]
    return list(dict.fromkeys(record.variant for record in checked if not _is_of_today(environment, record)))


def _is_of_today(environment: Environment, record: Record) -> bool:
    if record.network:
        names = (launch.partition("+")[0] for launch in record.network.launches)
        variants = [variant for name in names if (variant := _find_variant(name))]
        values = [record.config, *(variant.default() for variant in variants)]
        known = {text for variant in variants for each in values for text in _list_hashes(variant, each)}
        return set(record.code.split()) <= known
    passes = [hash_code(each, each.default().items()) for each in [read_pass("elementwise")] if record.passed]
    code = " ".join(each for each in record.code.split() if each not in passes)
    if not code:
        return True  # of a library
    variant = _find_variant(record.variant, record.path)
    if variant is None:
        return False
    if not variant.picks or record.backend != environment.backend:
        return code in _list_hashes(variant, record.config)
    targets = {environment.backend: environment.target}
    (plan,) = make_plans([record.problem], [(variant, [Config()])], environment.backend, targets, lambda *_: "")
    return isinstance(plan, Plan) and code == hash_code(plan.variant, plan.config.values)


def _list_hashes(variant: Variant, values: Mapping[str, int]) -> list[str]:
    """The hashes that a row of a variant with these values can have; for a variant that picks, the hashes of everything
    that it can pick.
    """
    if not variant.picks:
        return [hash_code(variant, values.items())]
    picked = [(pick.code, dict(pick.params)) for pick in variant.picks if pick.code]
    return [hash_code(code, {**code.default(), **params}.items()) for code, params in picked]


def list_misfits(results: Path) -> Iterator[str]:
    """The files in a folder of results whose sources differ from those of the revision that they name, in words.

    A name with CHANGED promises nothing, and a shallow clone cannot tell what it lacks.
    """
    for path in sorted(results.glob("*/*")):
        for revision, tree in dict.fromkeys(_list_sources(path)):
            if not revision or not tree or revision.endswith(CHANGED):
                continue
            known, name = _find_tree(revision), path.relative_to(results.parent)
            if not known and is_complete(ROOT):
                yield f"{name}: names revision {revision}, which this repository does not have"
            elif known not in ("", tree):
                yield f"{name}: was not measured with the sources of revision {revision}, which it names"


@lru_cache(maxsize=256)
def _find_tree(revision: str) -> str:
    return find_tree(ROOT, revision)


def _list_sources(path: Path) -> Iterator[tuple[str, str]]:
    """Each revision and hash that a file names."""
    if ".jsonl" in path.suffixes:
        environment = read_environment(path)
        yield environment.revision, environment.tree
    elif path.suffix in (".txt", ".csv"):
        origins = (origin for origin, _ in split_origins(path.read_text(encoding="utf-8")))
        yield from ((origin.revision, origin.tree) for origin in origins if origin)
