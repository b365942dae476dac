"""Groups of similar items as the map shows them, and names for any selection of items."""

from __future__ import annotations

import threading

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.studio.messages import ItemGroup
from lass.studio.session import Session
from lass.studio.snapshot import LIKELY, Snapshot
from lass.tagging.reasons import Explainer, content_of
from lass.tagging.storage import SavedMap
from lass.tagging.topics import Grouping, TextTerms, group_terms, is_near_duplicate, selection_terms, terms_of
from lass.tagging.topics import ItemGroup as FoundGroup

#: items whose texts are read while a request waits, and items of which no terms are named
FEW_TEXTS, MANY_TEXTS = 100_000, 200_000


class Groups:
    """Read from the files when first asked for, and again when these have changed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: tuple[str, list[FoundGroup]] = "", []
        self._terms: tuple[tuple[object, ...], TextTerms | None] | None = None
        self._tags: tuple[Snapshot, TextTerms] | None = None
        self._explainer: Explainer | None = None
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._reading: threading.Thread | None = None

    def messages(self) -> list[ItemGroup]:
        """The groups that were saved with the map; none while there is no map of all items."""
        annotations, groups = self._session.annotations, self._groups()
        names = self._names_by_tags(groups)
        return [
            ItemGroup(
                number=group.number, name=names.get(group.number, group.name), terms=list(group.terms),
                rows=group.rows.tolist(), tagged=int(annotations.is_tagged[group.rows].sum()),
            )
            for group in groups
        ]  # fmt: skip

    def _names_by_tags(self, groups: list[FoundGroup]) -> dict[int, str]:
        """Names of groups without texts, by their numbers: the tag that sets each apart, where one does."""
        known = None if any(group.terms for group in groups) else self._tags_as_terms()
        if known is None:
            return {}
        part = np.full(len(self._session.items), -1, np.intp)
        for place, group in enumerate(groups):
            part[group.rows] = place
        names: dict[int, str] = {}
        found = group_terms(known, part[: known.matrix.shape[0]], len(groups))
        for group, tags in zip(groups, found, strict=True):
            if free := [tag for tag in tags if not is_near_duplicate(tag, names.values())]:
                names[group.number] = free[0]
        return names

    def selection_terms(self, rows: list[int]) -> tuple[str, ...]:
        """The terms that set some items apart from the others."""
        known = self._text_terms()
        return () if known is None else selection_terms(known, np.unique(rows).astype(np.intp))

    def explainer(self, snapshot: Snapshot) -> Explainer:
        """Sentences on the suggestions of a model."""
        known = self._explainer
        if known is None or known.suggester is not snapshot.suggester:
            session, settings = self._session, self._session.collection.settings
            compared = settings.metric != "precomputed"
            content = content_of(str(settings.features.get("kind", "text")), compared)
            known = Explainer(snapshot.suggester, self._terms_to_name, session.names_of_rows, content)
            self._explainer = known
        return known

    def _terms_to_name(self) -> TextTerms | None:
        """The terms of all texts.

        None where items are not compared by their texts, while the terms of many texts are being read, which
        nobody waits for, and in very large collections.
        """
        settings = self._session.collection.settings
        compared = settings.metric != "precomputed" and settings.features.get("kind", "text") == "text"
        return self._terms_by_now() if compared else None

    def terms_of_parts(self, part: NDArray[np.intp], count: int) -> list[tuple[str, ...]]:
        """What sets each part of the items apart: terms, or tags where no term does."""
        found: list[tuple[str, ...]] = [()] * count
        for known_of in (self._terms_by_now, self._tags_as_terms):
            known = None if all(found) else known_of()
            if known is not None:
                more = group_terms(known, part[: known.matrix.shape[0]], count)
                found = [own or other for own, other in zip(found, more, strict=True)]
        return found

    def _tags_as_terms(self) -> TextTerms | None:
        """Which tags each item has or is likely to have."""
        snapshot = self._session.snapshot
        if snapshot is None:
            return None
        if self._tags is None or self._tags[0] is not snapshot:
            G = snapshot.model.solution.problem.G
            blocks = []
            for low, block in snapshot.scores.blocks():
                kept = block.data >= LIKELY
                ends = np.concatenate([[0], np.cumsum(kept)])[block.indptr]
                likely = sp.csr_array((kept[kept], block.indices[kept], ends), block.shape)
                blocks.append(likely + sp.csr_array(G[low : low + block.shape[0]] > 0))
            having = sp.csr_array(sp.vstack(blocks, format="csr"))
            having.eliminate_zeros()
            self._tags = snapshot, TextTerms(having.astype(np.float32), self._session.names[: snapshot.tags])
        return self._tags[1]

    def _terms_by_now(self) -> TextTerms | None:
        """The terms of all texts; None while those of many are being read, and in very large collections."""
        items = len(self._session.items)
        if items > MANY_TEXTS:
            return None
        terms = self._terms
        if items > FEW_TEXTS and (terms is None or terms[0] != self._texts()):
            with self._starting:
                if self._reading is None or not self._reading.is_alive():
                    self._reading = threading.Thread(target=self._text_terms, name="terms", daemon=True)
                    self._reading.start()
            return None
        return self._text_terms()

    def _texts(self) -> tuple[object, ...]:
        """What tells the texts from those of before."""
        session = self._session
        return len(session.items), session.returns, session.collection.settings.features.get("edition", 0)

    def _text_terms(self) -> TextTerms | None:
        items = self._session.items
        with self._lock:
            if self._terms is None or self._terms[0] != self._texts():
                self._terms = self._texts(), terms_of(self._session.collection, items)
            return self._terms[1]

    def _groups(self) -> list[FoundGroup]:
        try:
            return self._saved_groups()
        except ValueError:  # damaged: the next fit finds them again
            return []

    def _saved_groups(self) -> list[FoundGroup]:
        collection = self._session.collection
        stamp = collection.saved_stamp("map")
        if stamp is None or stamp.items != len(self._session.items):
            return []
        if self._found[0] != stamp.token:
            saved, graph = collection.saved_array("map"), collection.saved_array("graph")
            found = None if saved is None else Grouping.from_map(SavedMap.from_arrays(saved.extras))
            if found is None or graph is None or graph.stamp.items != stamp.items:
                return []
            self._found = stamp.token, found.groups(graph.matrix, collection.ids())
        return self._found[1]
