"""The JSON messages between page and server; ``web/src/lib/types.ts`` is generated from them.

Items are named by their row, tags by their column.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from lass.collection.records import MAX_TAG, check_person
from lass.studio.access import visitor

#: annotations in one action, at most
MAX_ANNOTATIONS = 100_000

#: a row or a column


def _no_truth(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"must be a whole number; found {str(value).lower()}")
    return value


Index = Annotated[int, BeforeValidator(_no_truth), Field(ge=0, lt=2**31)]
#: who makes a change: with a link of one's own, no other name; checked here, so that no route can forget it
Who = Annotated[
    str,
    Field(max_length=100, validate_default=True),
    AfterValidator(lambda who: check_person(visitor().author(who.strip()))),
]
Name = Annotated[str, Field(min_length=1, max_length=MAX_TAG)]
Value = Annotated[Literal[-1, 0, 1], BeforeValidator(_no_truth)]
#: which items
Filter = Literal["all", "untagged", "tagged", "doubtful", "changed", "next", "flagged", "disputed"]


class Message(BaseModel):
    """Field names are written in camel case, as in JavaScript."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class TagAnnotation(Message):
    """An annotation of an item: it has the tag (+1), or it has not (-1)."""

    tag: int
    value: Literal[-1, 1]


class SuggestedTag(Message):
    """A tag without an annotation, and its score.

    The score is null while too little is known for percentages; ``strength`` orders tags all the same.
    """

    tag: int
    score: float | None
    strength: float  #: from 0 to 1, the length of the bar


class ItemRow(Message):
    """An item as the list shows it."""

    row: int
    id: str
    title: str
    snippet: str  #: the beginning of its text
    annotations: list[TagAnnotation]
    suggestions: list[SuggestedTag]  #: the highest score first, five at most
    doubted: list[int]  #: tags that it has, though their score is low
    reason: str  #: why it is proposed to be labelled next; empty if it is not
    picture: bool
    flagged: bool  #: whether somebody marked it to come back to
    disputed: list[int]  #: tags on which people differ, also where most of them agree


class ItemList(Message):
    """Rows in the order to show them; all of them, for 60,000 rows are 400 kB."""

    rows: list[int]
    revision: int
    terms: list[str]  #: parts of the text that was looked for, in lower case
    near: list[str]  #: near words that were found where few items have all parts


class Tag(Message):
    """A tag with its counts."""

    tag: int
    name: str
    synonyms: list[str]  #: names that it had, or that tags had which were merged into it
    is_: int = Field(alias="is")  #: how many items have it
    is_not: int  #: how many items are annotated not to have it
    #: how many items without an annotation have a score of one half or more; null while there are no scores
    predicted: int | None
    total: float  #: sum of its shares over all items
    retired: bool  #: deleted, merged into another or removed by undo: no longer offered


class ModelState(Message):
    """What the model is doing, and how exact its solution is."""

    #: untagged: graph, map and groups are there, and no annotation to learn from
    phase: Literal["empty", "untagged", "unfitted", "fitting", "updating", "ready", "failed"]
    stage: str = ""
    share: float | None = None  #: of a training that is done; null where none is under way
    seconds_left: float | None = None  #: about, of a training; null where that is not known
    gap: float | None = None  #: certified relative gap; null before the first solve
    lam: float | None = None
    reason: str = ""  #: why that lam
    comparisons: list[str] = []  #: how items are compared, and why
    certificate: str = ""
    revision: int = 0  #: the last change of the log that the model has taken in
    seconds: float = 0.0
    error: str = ""
    #: about how many more tagged items are needed until scores are shown as percentages; 0: they are
    items_until_percentages: int = 0
    needed_for_percentages: str = ""  #: the same as a phrase
    retrained: bool = True  #: whether the weights behind the scores were trained with the present annotations


class AnnotationCounts(Message):
    """How many annotations there are, and how many items have a tag."""

    is_: int = Field(alias="is")
    is_not: int
    tagged: int


class Person(Message):
    """Somebody who annotates, with a colour by number, the same for everybody."""

    name: str
    colour: int


class StudioState(Message):
    """The collection and its model."""

    started: str  #: another one after each start of the server
    you: str  #: the name under which changes of this page are stored where it gives none
    own_link: bool  #: whether it is stored under that name alone
    key: str  #: lets in to pictures, downloads and events, where no header can be sent
    people: list[Person]
    disputed: int  #: on how many pairs of item and tag people differ

    name: str
    folder: str
    version: str
    items: int
    tags: int
    revision: int  #: the last change of the log
    annotations: AnnotationCounts
    model: ModelState
    map: bool  #: whether the points of the map are there
    pictures: bool  #: whether items are pictures
    notice: str = ""  #: what people must know of the files, a sentence: read-only, or damaged


class NeighbourDetails(Message):
    """A similar item, and what it adds to the share of each of ``ModelDetails.tags``."""

    row: int
    id: str
    title: str
    weight: float  #: of its edge, relative to all edges of the item
    annotations: list[TagAnnotation]
    contributions: list[float]


class Flip(Message):
    """The smallest change of one annotation that puts another tag first."""

    top: int
    runner_up: int
    change: float  #: what must be added to the annotation of ``runner_up`` for it to draw level with ``top``
    possible: bool  #: whether one annotation can do that


class FacetShares(Message):
    """What an item has of the tags of one facet at the lam of the model; what is left is "none of these"."""

    facet: str  #: "" for tags without a facet
    tags: list[int]  #: the largest share first
    shares: list[float]


class ModelDetails(Message):
    """The assignment of one item, at every lam; lists hold one number for each of ``tags``."""

    tags: list[int]  #: tags with a share anywhere on the path, or with an annotation; the largest share first
    shares: list[float]  #: at the lam of the model
    gamma: float  #: 1 / (2 lam degree); zero is the crowd alone
    lam: float
    degree: float
    gammas: list[float]  #: breakpoints, increasing from 0; shares and threshold are linear between them
    path: list[list[float]]  #: the shares at each of ``gammas``; constant after the last
    thresholds: list[float]  #: the threshold at each of ``gammas``
    affinities: list[float]  #: the annotations: +1, -1 or 0
    crowd: list[float]  #: shares[t] = max(0, crowd[t] + expert[t] - threshold)
    expert: list[float]  #: gamma times ``affinities``
    threshold: float | None  #: null where a rule decides and not a sum
    neighbours: list[NeighbourDetails]  #: the largest weight first
    flip: Flip | None
    note: str  #: what decides, where it is a rule
    facets: list[FacetShares]  #: where the model has a distribution in each; all else is of one of them
    facet: str | None  #: of that one


class ReasonPart(Message):
    """A part of the sentence that says why: plain text, or the name of a term, an item or a tag."""

    text: str
    kind: Literal["text", "term", "item", "tag"]
    place: int | None  #: the row of an item, the column of a tag


class ExplainedTag(Message):
    """A tag and why the item probably has it, or why it is doubted."""

    tag: int
    parts: list[ReasonPart]
    #: terms of its text that set the items with the tag apart, the most telling first
    terms: list[str]
    #: the score as a sum: that of any item first, then what each source adds; empty without a score
    points: dict[str, float]


class ExplainedSuggestion(SuggestedTag, ExplainedTag):
    """A suggestion and why."""


class AnnotationScore(Message):
    """The score of a tag that the item has, its own annotation left out, and the mean over all items."""

    tag: int
    score: float
    mean_score: float
    why: list[ReasonPart]  #: why it is doubted; empty where it is not


class PersonsAnnotation(TagAnnotation):
    """What one person stated; without a name it came with the items, or was stated without one."""

    who: str


class LoggedChange(Message):
    """One line of the log."""

    number: int
    batch: int
    at: str
    who: str
    row: int
    item: str
    tag: int
    value: Value
    undone: bool
    undoes: bool  #: whether it is itself the undoing of another


class LoggedAction(Message):
    """What was done together, and is undone together."""

    number: int
    at: str
    who: str
    imported: bool
    tags: list[str]  #: what was done to tags, or of an undo, what was undone
    count: int  #: annotations that changed
    items: int | None  #: on so many items; null for an import
    same: bool  #: whether it is one tag, added, rejected or withdrawn on all of them
    moves: bool  #: whether they changed because a tag was merged or deleted
    undone: bool
    undoes: bool
    again: bool  #: whether it reverses an undo
    changes: list[LoggedChange]  #: the last few


class ItemDetails(ItemRow):
    """An item with everything that the panel shows."""

    text: str
    extra: dict[str, Any]
    explained: list[ExplainedSuggestion]  #: ten suggestions at most
    annotation_scores: list[AnnotationScore]
    model_details: ModelDetails | None
    people: list[PersonsAnnotation]  #: what each person stated, by tag
    history: list[LoggedChange]


class AnnotationChange(Message):
    """An annotation to make; 0 withdraws it."""

    row: Index
    tag: Index
    value: Value


class AnnotationBatch(Message):
    """An action: annotations that are undone together."""

    annotations: Annotated[list[AnnotationChange], Field(min_length=1, max_length=MAX_ANNOTATIONS)]
    who: Who = ""


class WhatIf(Message):
    """Annotations of one item to try out; tags not named keep theirs."""

    annotations: Annotated[dict[Index, Value], Field(max_length=1000)]
    facet: Annotated[str, Field(max_length=1000)] | None = None  #: whose details to give, if there are any


class WhatIfResult(Message):
    """What would follow; nothing is stored."""

    details: ModelDetails
    #: the suggestions then, the likeliest first; null where they cannot be computed at once
    suggestions: list[SuggestedTag] | None


class Author(Message):
    """Who makes a change."""

    who: Who = ""


class UndoneAction(Author):
    """What to undo: the action of a change, or the last one."""

    change: Index | None = None


class NewTag(Author):
    """A tag to make, or a new name for one."""

    name: Name


class MergeTarget(Author):
    """The tag that another is merged into."""

    into: Index


class ChangeResult(Message):
    """What every change answers with, once it is on the disk."""

    revision: int
    what: str  #: what was done, for people, such as: Undid: +mail on mutt
    rows: list[ItemRow]
    change: int = 0  #: of annotations: the number by which this action is undone


class NewTagResult(ChangeResult):
    """A new tag."""

    tag: int


class CandidateItem(Message):
    """An item that probably has a tag; as in a suggestion, the score may be null."""

    row: ItemRow
    score: float | None
    strength: float


class DoubtedItem(CandidateItem):
    """An item that has a tag, though the score is low."""

    mean_score: float


class ItemGroup(Message):
    """Similar items, found without annotations, and a name for them."""

    number: int
    name: str
    terms: list[str]  #: that set it apart, most first; empty where items have no texts
    rows: list[int]  #: the most typical item first
    tagged: int  #: how many of them have a tag


class ItemSelection(Message):
    """Some items."""

    rows: Annotated[list[Index], Field(min_length=1, max_length=MAX_ANNOTATIONS)]


class SelectedTag(Message):
    """How many of some items have a tag, and for which others it is likely."""

    tag: int
    having: int
    not_having: int
    likely: list[int]  #: rows without an annotation of it, and with a score of one half or more
    expected_right: float  #: of these, the sum of the scores


class SelectionSummary(Message):
    """Some items in short: their most frequent tags, those that most of them have first."""

    items: int
    tags: list[SelectedTag]


class MapName(Message):
    """A name for items that lie together on the map: a term or tag that sets them apart."""

    name: str
    x: float
    y: float
    items: int


class MapChanges(Message):
    """Who changed the annotations of items last, and when; one entry an item that somebody changed."""

    people: list[str]
    rows: list[int]
    who: list[int]  #: places in ``people``
    at: list[int]  #: in seconds since 1970


class ProposedName(Message):
    """A name for some items: empty where no term sets them apart."""

    name: str
    terms: list[str]


class TaggedSelection(ItemSelection, Author):
    """A tag for some items, in one action; it is made if it is not there yet."""

    name: Name


class CoOccurringTag(Message):
    """A tag that occurs with another: the share of the other's items that have it too."""

    tag: int
    share: float


class TagPage(Message):
    """A tag, items to decide on, and tags that occur with it."""

    tag: Tag
    candidates: list[CandidateItem]  #: items without an annotation, the highest score first
    doubts: list[DoubtedItem]  #: the lowest score first
    co_occurring: list[CoOccurringTag]


class FlagChange(Author):
    """An item to flag, or whose flag to take away."""

    row: Index
    flagged: bool


class ReviewQuery(Message):
    """Which questions to ask, and in which order.

    surest: suggestions, the highest score first. useful: suggestions of the items to label next, then those
    nearest to one half. doubtful: stated tags whose score is low, the lowest first. disputed: tags on which
    people differ, those where their sum is zero first.
    """

    order: Literal["surest", "useful", "doubtful", "disputed"] = "surest"
    tag: Index | None = None  #: this tag alone
    filter: Filter = "all"
    rows: Annotated[list[Index], Field(max_length=MAX_ANNOTATIONS)] | None = None  #: these items alone


class ReviewQuestion(Message):
    """Whether an item has a tag: suggested, stated and doubted, or one on which people differ."""

    row: int
    tag: int
    score: float | None
    strength: float
    stated: bool
    differ: bool = False


class ReviewQueue(Message):
    """Questions to ask next, and how many there are in all."""

    questions: list[ReviewQuestion]
    total: int
    likely: int | None  #: of these, how many have a score of one half or more; null without scores
    revision: int
    #: of all open suggestions in question, how many have a score of at least so much; empty without scores
    above: dict[int, int]  #: by per cent


class ReviewAbove(ReviewQuery):
    """All suggestions from a score on."""

    score: Annotated[float, Field(ge=0.5, lt=1.0)]


class ReviewAboveResult(Message):
    """Suggestions to accept together, the lowest score first, and how many of them will be wrong."""

    annotations: list[AnnotationChange]
    scores: list[float]  #: of the first of them, which are shown
    items: int
    tags: int
    expected_wrong: float  #: share of them: the mean of one minus the score


class ProgressPoint(Message):
    """How many annotations and tagged items there were at a time."""

    at: str
    annotations: int
    tagged: int


class RetrainResult(Message):
    """Whether the model is trained again; it is not where that is under way already."""

    started: bool


class CancelResult(Message):
    """Whether a training was under way, which now ends."""

    cancelled: bool


class ColumnMapping(Message):
    """Which column is what; the same names as the options of ``lass init``."""

    id: str | None
    title: str | None
    text: list[str]
    tag_column: str | None
    separator: Annotated[str, Field(min_length=1, max_length=5)] | None
    numeric: list[str] = []


UploadPart = Literal["items", "tags", "vectors", "edges"]
UploadKey = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class UploadResult(Message):
    """Names the files in the requests that follow; the server keeps them until then."""

    upload: str


class LookRequest(Message):
    """Files that were uploaded, and how to read them; without a mapping it is guessed."""

    upload: UploadKey
    mapping: ColumnMapping | None = None
    encoding: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    sheet: Annotated[str, Field(max_length=200)] | None = None


class UploadedFile(Message):
    """A table that was uploaded: how its letters are written if it is one of text, and its sheets."""

    name: str
    part: UploadPart
    encoding: str | None
    sheets: list[str]


class FoundProblem(Message):
    """What is wrong in one line of a file; null: in the whole file."""

    line: int | None
    message: str


class FilePreview(Message):
    """What the files hold, before they are imported."""

    upload: str
    kind: Literal["table", "texts", "images", "tags"]
    files: list[UploadedFile]
    columns: list[str]
    sample: list[list[str]]
    examples: list[str]  #: some names of items
    rows: int
    known: int  #: of these rows, about items that are there already
    annotations: int
    tags: int
    bad_rows: int
    problems: list[FoundProblem]  #: the first of the bad rows
    mapping: ColumnMapping | None


class ImportRequest(Author, LookRequest):
    """Files that were uploaded, how to read them, and what becomes of rows about known items."""

    skip_bad: bool = False
    existing: Literal["keep", "update"] = "keep"


class ImportResult(Message):
    """What was imported, and rows that were left out."""

    items: int
    updated: int
    left_out: int
    annotations: int
    tags: int
    problems: list[FoundProblem]
    notes: list[str]


class TagsEvent(Message):
    """Tags were made, renamed or merged."""

    revision: int
    who: str
    what: str


class AnnotationsEvent(TagsEvent):
    """Annotations of these rows changed."""

    rows: list[int]


class PredictionsEvent(Message):
    """Assignments or scores of these rows are new; null: of all."""

    revision: int
    rows: list[int] | None


class ReloadEvent(Message):
    """Items were added, or the map came: the page must ask for everything again."""


class EventData(Message):
    """The data of each server-sent event, by its name."""

    annotations: AnnotationsEvent
    tags: TagsEvent
    model: ModelState
    predictions: PredictionsEvent
    reload: ReloadEvent


class ErrorMessage(Message):
    """Why a request was refused, for people."""

    error: str
