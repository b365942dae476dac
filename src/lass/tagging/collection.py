"""Collections in Python, as short as on the command line: create or open, fit, suggest, tag, export."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lass.collection import Annotation, CollectionStore, Item
from lass.collection.people_table import user_name
from lass.collection.records import check_text, did_you_mean
from lass.collection.writing import FLAT, WORKBOOK, check_ending, nested, write_rows

if TYPE_CHECKING:
    from lass.solvers.plan import Engine
    from lass.tagging import DoubtfulTag, FitResult, NextItem, ProgressCallback, Suggestion, TagSuggester
    from lass.tagging.distributed.cluster import Workers
    from lass.tagging.evaluation import Evaluation
    from lass.tagging.evaluation.evaluating import StepCallback

#: suggestions that are printed
SHOWN = 20
#: settings that :meth:`Collection.fit` takes
FIT_SETTINGS = ("lam", "smoothing", "facets", "n_neighbors", "metric")
#: options of reading tables that :func:`create` passes on
READING = {"layout", "value", "separator", "encoding"}


class Suggestions(list["Suggestion"]):
    """A list of :class:`Suggestion` rows: item, tag, score, rank, because, neighbours, strength."""

    def to_pandas(self) -> Any:
        """A pandas data frame with one row a suggestion."""
        from lass.tagging.export_rows import explained_columns, suggestion_rows

        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from None
        rows = map(nested, suggestion_rows(self))
        return pandas.DataFrame(rows, columns=list(explained_columns(any(row.why for row in self))))

    def __repr__(self) -> str:
        """A line a suggestion; of many, the first and the number of the others."""
        if not self:
            return "no suggestions"
        shown = self[:SHOWN]
        item, tag = max(len(row.item) for row in shown), max(len(row.tag) for row in shown)
        lines = [_line(row, item, tag) for row in shown]
        if len(self) > SHOWN:
            lines.append(f"... and {len(self) - SHOWN:,} more")
        return "\n".join(lines)


def _line(row: Suggestion, item: int, tag: int) -> str:
    """With the predictors that add most to the score, else the supporting neighbours."""
    score = "    -" if row.score is None else f"{row.score:.3f}"
    strongest = [name for name, part in list(row.because.items())[:2] if part > 0]
    reasons = row.why or ", ".join(strongest or [neighbour.item for neighbour in row.neighbours])
    return f"{row.item:<{item}}  {row.tag:<{tag}}  {score}  {reasons}".rstrip()


class Collection(CollectionStore):
    """Items, tags and annotations in a folder, a model of them, and its suggestions.

    Made by :func:`lass.create` or :func:`lass.open`. Several programs may have the folder open at once; every
    method that changes something returns after the change is on the disk.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> folder = TemporaryDirectory()
    >>> known = [("0", "mail"), ("3", "game")]
    >>> programs = lass.create(f"{folder.name}/programs", texts, tags=known, n_neighbors=2)
    >>> result = programs.fit()
    >>> [(row.item, row.tag) for row in programs.suggest(top=1, untagged=True)]
    [('1', 'mail'), ('2', 'mail'), ('4', 'game'), ('5', 'game')]
    >>> programs.tag("1", "mail", "-game", who="ann")
    [3, 4]
    >>> programs.annotations[-2:]
    [Annotation(item='1', tag='mail', value=1, who='ann'), Annotation(item='3', tag='game', value=1, who='')]
    >>> programs.close(); folder.cleanup()
    """

    _cached: tuple[Any, TagSuggester] | None = None

    @property
    def items(self) -> list[Item]:
        """All items."""
        return self.get_items()

    @property
    def tags(self) -> list[str]:
        """The tags in use."""
        retired = self.retired()
        return [name for column, name in enumerate(self.names()) if column not in retired]

    @property
    def annotations(self) -> list[Annotation]:
        """Everybody's annotations (item, tag, value, who), in the order of the items.

        ``who`` is empty where it came with the items, or without a name. :meth:`annotation_matrix` has what
        follows where people differ: the sign of their sum.
        """
        return [annotation for annotation, _ in self.each_annotation()]

    @property
    def assignments(self) -> Any:
        """(items, tags) the share of each tag, dense or sparse; None before the first fit.

        Rows sum to one; where the fit chose a distribution in each facet, to one at most within each facet,
        the rest being "none of these".
        """
        from lass.tagging.storage import saved_shares

        return saved_shares(self)

    def tag(self, item: str, *tags: str, who: str | None = None, new: bool = False) -> list[int]:
        """State which tags an item has, and with a minus in front which it does not have.

        What others stated stays: the sign of the sum counts.

        Parameters
        ----------
        item : str
            Its id.
        *tags : str
            ``"field::biology"``, or ``"-game::arcade"``.
        who : str, optional
            Who states it; by default the user of this machine.
        new : bool
            Make tags that are not there yet.

        Returns
        -------
        list of int
            The numbers of the changes in the log; :meth:`undo` reverses them together.
        """
        if not tags:
            raise ValueError('tags must name at least one, such as "mail" or "-game"; found none')
        for name in tags:
            if not isinstance(name, str) or not name.removeprefix("-"):
                raise ValueError(f'tags must be texts such as "mail" or "-game"; found {name!r}')
        signed = [(item, name.removeprefix("-"), -1 if name.startswith("-") else 1) for name in tags]
        return self.annotate_all(signed, who=user_name() if who is None else who, new=new)

    def fit(
        self, *, report: ProgressCallback | None = None, engine: Engine | Workers | None = None,
        draw_map: bool = True, device: str | None = None, update: bool = False, embed: str | None = None,
        **settings: Any,
    ) -> FitResult:  # fmt: skip
        """Bring features, graph, assignments and scores up to date, and save them.

        Where a model for texts or pictures is set, tags of at most 2,000 items are hidden to see whether they
        are found again better with it than without, and items are compared so; ``comparisons`` of the result
        says how. In the same way it is chosen whether tags share one distribution or have one in each of the
        facets that their names give (``facet::tag``, ``a/b/c``).

        Parameters
        ----------
        report : callable, optional
            Called with the progress of each stage.
        engine : "ray" or lass.tagging.distributed.Workers, optional
            All stages but the map run on Ray workers. :class:`lass.solvers.distributed.Partitions` solves
            elsewhere, as in :func:`lass.solve`, and does all else here.
        draw_map : bool
            Whether the map is drawn as well, once everything else is saved.
        device : str, optional
            ``"cuda"`` computes neighbours of dense features, assignments and scores on a GPU.
        update : bool
            Only take new annotations over, with lam and weights of the last fit: several times as fast, and
            :meth:`is_retrained` is False until the next fit. Everything is fitted where that cannot be done:
            up to about 200 tagged items, and after changed items, tags or settings.
        embed : str, optional
            Model for texts or pictures, as in :func:`lass.create`; "none" for none. It stays.
        **settings
            Settings to fit with: ``lam``, ``smoothing``, ``facets``, ``n_neighbors`` or ``metric``. They are
            saved with the model, or not at all.

        Returns
        -------
        FitResult
            With a certificate and the health of the graph.
        """
        from lass.tagging.pipeline import fit
        from lass.tagging.progress import ignore_progress

        self._database.check_writable()
        _expect(report=(report, Callable), embed=(embed, str))
        for name in settings:
            if name not in FIT_SETTINGS:
                known, meant = ", ".join(FIT_SETTINGS), did_you_mean(name, FIT_SETTINGS)
                raise ValueError(f"fit takes the settings {known}; found {name!r}{meant}")
        if embed is not None:
            from lass.collection.importing import with_model

            settings["features"] = with_model(self.settings.features, embed)
        if "metric" in settings:
            from lass.collection.importing import check_metric

            check_metric(settings["metric"], str(self.settings.features.get("kind")))
        if update:
            done = self._update_fit(engine or device or settings, report or ignore_progress)
            if done is not None:
                return done
        return fit(
            self,
            report or ignore_progress,
            engine=engine,
            draw_map=draw_map,
            device=device,
            settings=settings,
        )

    def _update_fit(self, other: Any, report: ProgressCallback) -> FitResult | None:
        from lass.tagging.live import update_fit

        if other:
            raise ValueError("an update changes no settings, and uses no engine or device; leave one out")
        return update_fit(self, report)

    def suggest(
        self, *, top: int = 5, items: Iterable[str] | None = None, tag: str | None = None,
        untagged: bool = False, min_score: float = 0.0, limit: int | None = None, neighbours: int = 3,
        explain: bool = False,
    ) -> Suggestions:  # fmt: skip
        """Tags that items may be missing, by the last :meth:`fit`.

        Parameters
        ----------
        top : int
            Tags an item, at most.
        items : iterable of str, optional
            Only items with these ids.
        tag : str, optional
            Only this tag, where it is among the ``top``.
        untagged : bool
            Only items without tags.
        min_score : float
            Leave out lower scores.
        limit : int, optional
            Items, at most: those with the highest scores. By default all, in the order of the collection.
        neighbours : int
            Supporting neighbours of each tag, at most.
        explain : bool
            Also give the reasons as a sentence, in ``why``.

        Returns
        -------
        Suggestions
            A list of rows (item, tag, score, rank, because, neighbours, strength, why) with ``to_pandas``;
            the score is None where too little is known to give one, and strength orders the tags all the
            same.
        """
        items = _texts(items, "items")
        _expect(top=(top, int), limit=(limit, int), neighbours=(neighbours, int), tag=(tag, str))
        _expect(min_score=(min_score, Real))
        found = self._suggester().suggestions(
            top=top, items=items, tag=tag, untagged=untagged, min_score=min_score, limit=limit,
            neighbours=neighbours,
        )  # fmt: skip
        if explain:
            from lass.tagging.reasons import Explainer

            found = Explainer.of_collection(self, self._suggester()).explained(found)
        return Suggestions(found)

    def is_retrained(self) -> bool:
        """Whether scores come from a training with the present annotations, not with earlier ones.

        The Studio follows annotations at once, and trains again after a pause; :meth:`fit` always does.
        """
        return self._suggester().model.retrained

    def items_until_percentages(self) -> int:
        """About how many more tagged items it takes until suggestions have scores; 0: they have."""
        return self._suggester().model.items_until_percentages

    def needed_for_percentages(self) -> str:
        """What it takes until suggestions have scores, as a phrase; empty: they have."""
        return self._suggester().model.needed_for_percentages

    def doubtful_tags(
        self, *, items: Iterable[str] | None = None, tag: str | None = None, limit: int | None = None
    ) -> list[DoubtfulTag]:
        """Stated tags less than half as likely as on an average item, the lowest score first."""
        return self._suggester().doubtful_tags(items=items, tag=tag, limit=limit)

    def _suggester(self) -> TagSuggester:
        """Suggestions of the saved model, read again once model, items or annotations have changed."""
        from lass.tagging.suggestions import TagSuggester

        stamp = self.saved_stamp("assignments")
        key = (stamp and stamp.token, len(self), self.revision())
        if self._cached is None or self._cached[0] != key:
            self._cached = key, TagSuggester.from_collection(self)
        return self._cached[1]

    def next_items(self, top: int = 10, *, report: ProgressCallback | None = None) -> list[NextItem]:
        """Untagged items to tag next, each with a reason; needs neither tags nor a fit."""
        from lass.tagging.progress import ignore_progress
        from lass.tagging.suggestions import next_items

        _expect(top=(top, int))
        return next_items(self, top, report or ignore_progress)

    def evaluate(
        self, *, hide: float = 0.5, situations: Sequence[str] | None = None, seeds: int = 3,
        group: str | None = None, top: int = 5, report: StepCallback | None = None,
    ) -> Evaluation:  # fmt: skip
        """Hide known tags, and measure how well LASS and the baselines predict them; saved in the folder.

        Parameters
        ----------
        hide, situations, seeds, top, report
            As in :func:`lass.tagging.evaluation.evaluate`.
        group : str, optional
            A field of the items: those with the same value are hidden together. By default "group" or
            "source", if items have it; "" for none.
        """
        from lass.learning.predictors.holdout import SITUATIONS
        from lass.tagging.canonical import CanonicalOrder, permuted
        from lass.tagging.evaluation import FILE, evaluate
        from lass.tagging.facet_choice import facets_of
        from lass.tagging.preparation import (
            computing,
            features_of,
            graph_of,
            groups_of,
            predictor_inputs,
            smoothing_of,
        )
        from lass.tagging.storage import saved_model

        _expect(hide=(hide, Real), seeds=(seeds, int), top=(top, int), group=(group, str))
        situations = _texts(situations, "situations")
        annotations = self.annotation_matrix()
        if not annotations.names:
            raise ValueError(f"{self.path} has no tags yet, so that none can be hidden")
        group, groups = groups_of(self, group)
        several = (annotations.G > 0).sum(axis=1).max() > 1  # else no item can lose some of its tags
        with computing(self) as stage:
            W = graph_of(stage)
            inputs, _ = predictor_inputs(stage, saved_model(stage))
            features = inputs.features if inputs.of_graph else features_of(stage)
        order = CanonicalOrder.of(annotations, smoothing=bool(self.settings.smoothing))  # as a fit has it
        names = [annotations.names[column] for column in order.columns]
        model = saved_model(self)
        faceted = self.settings.facets == "on" or (
            self.settings.facets == "auto" and model is not None and model.facet_sums is not None
        )
        result = evaluate(
            order.graph(W), order.annotations(annotations.G), inputs=order.inputs(inputs),
            features=None if features is None else permuted(features, order.rows),
            groups=order.groups(groups), hide=hide, seeds=seeds, top=top,
            situations=situations or (tuple(SITUATIONS) if several else ("items",)), lam=self.settings.lam,
            category_graph=smoothing_of(self, names),
            facets=facets_of(names, self.settings) if faceted else None,
            report=report,
        )  # fmt: skip
        result = replace(result, tags=len(annotations.names), name=self.settings.name, group=group)
        try:
            self._database.check_writable()
            result.save(self.path / FILE)
        except (ValueError, OSError) as error:  # it can be read all the same
            warnings.warn(f"the evaluation is not kept: {error}", stacklevel=2)
        return result

    def export(
        self, path: str | Path, *, what: str = "annotations", min_share: float = 0.01, top: int = 5,
        raw: bool = False, semicolons: bool = False,
    ) -> int:  # fmt: skip
        """Write annotations, as :func:`lass.create` reads them, or others; the number of rows.

        What is written can be read again, and gives the same items and annotations. In .csv and .tsv a text
        that a spreadsheet would execute (one that begins with = + - or @) gets an apostrophe in front.

        Parameters
        ----------
        path : str or Path
            Ends in .csv, .tsv, .xlsx, .jsonl, .json or .parquet.
        what : {"annotations", "people", "table", "suggestions", "assignments"}
            The annotations that count, one row each; those of each person, with who and when; the table that
            the items came from, with a column of their tags; suggestions; or the shares of the tags that were
            fitted.
        min_share : float
            Of assignments: leave smaller shares out.
        top : int
            Suggestions an item.
        raw : bool
            Write texts as they are, with no apostrophe: for programs, not for spreadsheets.
        semicolons : bool
            Of .csv: as Excel opens it in languages with a decimal comma.
        """
        _expect(path=(path, str | Path), min_share=(min_share, Real), top=(top, int), raw=(raw, bool))
        _expect(semicolons=(semicolons, bool))
        check_ending(Path(path), "path")
        kind = Path(path).suffix.lower()
        columns, rows = self.export_rows(
            what, min_share, top=top, joined=kind in FLAT, numbers=kind == WORKBOOK
        )
        found = list(rows)
        write_rows(Path(path), columns, found, raw=raw, semicolons=semicolons)
        return len(found)

    def export_rows(
        self, what: str = "annotations", min_share: float = 0.01, *, top: int = 5, joined: bool = True,
        numbers: bool = False,
    ) -> tuple[tuple[str, ...], Iterable[dict[str, Any]]]:  # fmt: skip
        """The columns and rows that :meth:`export` writes; tags of the table are ``joined``, or lists.

        Numbers of a table whose tags are joined are texts, unless ``numbers``.
        """
        from lass.tagging import export_rows as tables

        if what == "annotations":
            return tables.ANNOTATION_COLUMNS, tables.annotation_rows(self)
        if what == "people":
            return tables.PERSON_COLUMNS, tables.person_rows(self)
        if what == "assignments":
            return tables.ASSIGNMENT_COLUMNS, tables.assignment_rows(self, min_share)
        if what == "table":
            from lass.tagging.own_table import OwnTable

            table = OwnTable(self, joined=joined, numbers=numbers or not joined)
            return table.columns, table
        if what == "suggestions":
            found = self.suggest(top=top, explain=True)
            return tables.explained_columns(True), tables.suggestion_rows(found)
        raise ValueError(
            f"what must be annotations, people, table, suggestions or assignments; found {what!r}"
        )


def _expect(**given: tuple[Any, Any]) -> None:
    """``ValueError`` for a value that is not of its kind; None stands for a default, but for no path."""
    names = {
        int: "a whole number",
        Real: "a number",
        str: "a text",
        bool: "True or False",
        Callable: "callable",
    }
    for name, (value, kind) in given.items():
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not (right or (value is None and kind in names)):
            raise ValueError(f"{name} must be {names.get(kind, 'a path')}; found {value!r}")


def _texts(given: Iterable[str] | None, name: str) -> list[str] | None:
    """A list of texts, or None."""
    if isinstance(given, str) or (given is not None and not isinstance(given, Iterable)):
        raise ValueError(f"{name} must be a list of texts; found {given!r}. Pass a list such as [{given!r}]")
    found = None if given is None else list(given)
    if found and (wrong := [one for one in found if not isinstance(one, str)]):
        raise ValueError(f"{name} must be a list of texts; found {wrong[0]!r} in it")
    return found


def open(folder: str | Path, *, read_only: bool = False) -> Collection:
    """The collection in a folder, see :class:`Collection`.

    Parameters
    ----------
    folder : str or Path
        Made by :func:`create` or ``lass init``. A collection of an older version is brought up to date.
    read_only : bool
        Change nothing, not even the format of the files.
    """
    _expect(folder=(folder, str | Path))
    return Collection(folder, read_only=read_only)


def create(
    folder: str | Path, items: Any = None, *, id: str | None = None, title: str | None = None,
    text: str | Iterable[str] = (), tags: Any = None, tag_column: str | None = None, vectors: Any = None,
    edges: Any = None, numeric: str | Iterable[str] = (), embed: str | None = None,
    metric: str | None = None, n_neighbors: int = 30, name: str = "", skip_bad: bool = False, **reading: Any,
) -> Collection:  # fmt: skip
    """Make a collection in a new folder, whole or not at all.

    Items are compared by their texts or pictures, or by one of ``vectors``, ``edges`` and ``numeric``.

    Parameters
    ----------
    folder : str or Path
        Where nothing is yet, or an empty folder.
    items : path, DataFrame, list of dict, or list of str, optional
        A table with one row an item (.csv, .tsv, .jsonl, .parquet), a folder of texts or pictures, a table
        in memory, or texts, whose ids are then "0", "1", and so on. By default those that ``edges`` name.
    id, title : str, optional
        Columns that name an item and that it is shown by; by default id, item or key, else the first, and
        title or name.
    text : str or several, optional
        Columns that describe an item; by default title, text, summary, description and the like.
    tags : path, DataFrame, mapping or list, optional
        Annotations: a table with item, tag and value, or item and tags, or one column a tag; a mapping from
        items to their tags; or a list of (item, tag) or (item, tag, value). A tag with a minus in front, or
        with the value -1, is one that the item does not have.
    tag_column : str, optional
        Column of the items that holds their tags.
    vectors : path or array of shape (N, D), optional
        One row an item.
    edges : path, DataFrame, list of (a, b) or (a, b, weight), or matrix of shape (N, N), optional
        Which items are similar; alone they name the items. Beside ``text``, ``numeric``, ``vectors`` or
        ``embed``, items are compared by both, as far as hidden tags say that it helps.
    numeric : str or several, optional
        Columns of numbers.
    embed : str, optional
        Name or folder of a sentence-embedding model, or name of a network for pictures: items are compared
        by it as well where that helps, see :meth:`Collection.fit`. By default one that is installed; "none"
        for none.
    metric : str, optional
        How rows of features are compared; by default cosine, for numeric columns euclidean.
    n_neighbors : int
        Of an item in the graph.
    name : str
        Of the collection; by default that of the folder.
    skip_bad : bool
        Leave bad rows out, with a warning, instead of stopping at the first.
    **reading
        ``layout``, ``value``, ``separator`` and ``encoding``, as in
        :func:`lass.collection.reading.read_tags`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> items = [{"id": "mutt", "text": "reads mail"}, {"id": "nethack", "text": "a dungeon game"}]
    >>> with TemporaryDirectory() as folder:
    ...     with lass.create(f"{folder}/programs", items, tags={"mutt": ["mail", "-game"]}) as programs:
    ...         print(programs.tags, len(programs))
    ['game', 'mail'] 2
    >>> with TemporaryDirectory() as folder:
    ...     with lass.create(f"{folder}/friends", edges=[("ann", "bob"), ("bob", "cleo")]) as friends:
    ...         print(friends.ids())
    ['ann', 'bob', 'cleo']
    """
    _expect(folder=(folder, str | Path), id=(id, str), title=(title, str), tag_column=(tag_column, str))
    _expect(
        embed=(embed, str), metric=(metric, str), n_neighbors=(n_neighbors, int), skip_bad=(skip_bad, bool)
    )
    text = _texts([text] if isinstance(text, str) else text, "text") or ()
    numeric = _texts([numeric] if isinstance(numeric, str) else numeric, "numeric") or ()
    check_text(name, "name", empty=True)
    if unknown := set(reading) - READING:
        raise ValueError(
            f"create() has no argument {min(unknown)!r}; reading takes {', '.join(sorted(READING))}"
        )
    from lass.collection.importing import read_new

    new = read_new(
        items=items, id=id, title=title, text=text, tags=tags, tag_column=tag_column, vectors=vectors,
        edges=edges, numeric=numeric, embed=embed, metric=metric, n_neighbors=n_neighbors, name=name,
        skip_bad=skip_bad, **reading,
    )  # fmt: skip
    if new.note:
        warnings.warn(new.note, stacklevel=2)
    return Collection.create(
        folder, new.items, new.tags, new.annotations, settings=new.settings, features=new.features,
        graph=new.graph, edges=new.edges,
    )  # fmt: skip
