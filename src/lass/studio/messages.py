"""What the page and the server say to each other; ``web/src/lib/types.ts`` is the same for the page.

Items are named by their row, tags by their column.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

#: words in one action, at most
MANY_WORDS = 100_000

#: a place in an array
Place = Annotated[int, Field(ge=0, lt=2**31)]
Who = Annotated[str, Field(max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Value = Literal[-1, 0, 1]


class Message(BaseModel):
    """Fields are written as JavaScript writes them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Stated(Message):
    """What somebody said of an item and a tag."""

    tag: int
    value: Literal[-1, 1]


class Suggested(Message):
    """A tag nobody spoke of: how likely it is, and its share of the assignment."""

    tag: int
    score: float
    share: float


class Row(Message):
    """An item as the list shows it."""

    row: int
    id: str
    title: str
    snippet: str
    stated: list[Stated]
    suggested: list[Suggested]
    doubted: list[int]
    picture: bool


class Listed(Message):
    """Rows in the order to show them."""

    rows: list[int]
    revision: int


class Tag(Message):
    """A tag with its counts."""

    tag: int
    name: str
    is_: int = Field(alias="is")
    is_not: int
    predicted: int
    mass: float
    retired: bool


class Model(Message):
    """How the model is, now."""

    phase: Literal["empty", "unfitted", "fitting", "learning", "ready", "failed"]
    stage: str = ""
    gap: float | None = None
    lam: float | None = None
    reason: str = ""
    certificate: str = ""
    learnt: int = 0
    seconds: float = 0.0
    error: str = ""


class Counts(Message):
    """How much is said."""

    is_: int = Field(alias="is")
    is_not: int
    tagged: int


class State(Message):
    """The collection and its model."""

    name: str
    folder: str
    version: str
    items: int
    tags: int
    revision: int
    words: Counts
    model: Model
    map: bool
    pictures: bool


class Neighbour(Message):
    """A similar item, and what it adds to each of the tags of an assignment."""

    row: int
    id: str
    title: str
    share: float
    stated: list[Stated]
    adds: list[float]


class Flip(Message):
    """What must be added to the word on ``runner_up`` for it to draw level with ``top``."""

    top: int
    runner_up: int
    change: float | None


class Assignment(Message):
    """The assignment of one item under some words of its own, at every lam."""

    tags: list[int]
    shares: list[float]
    gamma: float
    lam: float
    degree: float
    gammas: list[float]
    path: list[list[float]]
    crowd: list[float]
    expert: list[float]
    threshold: float
    neighbours: list[Neighbour]
    flip: Flip | None
    note: str


class Reasoned(Suggested):
    """A suggestion with what each witness adds to the evidence for it."""

    because: dict[str, float]


class Held(Message):
    """A stated tag with its score, the item's own word left out, and the score it has on average."""

    tag: int
    score: float
    usual: float


class Changed(Message):
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
    undoes: bool


class Detail(Row):
    """An item with all that is known of it."""

    text: str
    extra: dict[str, Any]
    reasons: list[Reasoned]
    held_by: list[Held]
    assignment: Assignment | None
    history: list[Changed]


class Word(Message):
    """What somebody says; 0 withdraws."""

    row: Place
    tag: Place
    value: Value


class Words(Message):
    """An action: words that are undone together."""

    words: Annotated[list[Word], Field(min_length=1, max_length=MANY_WORDS)]
    who: Who = ""


class WhatIf(Message):
    """Words on one item that nobody said; tags not named keep theirs."""

    words: Annotated[dict[Place, Value], Field(max_length=1000)]


class Signed(Message):
    """Who is asking."""

    who: Who = ""


class NewTag(Signed):
    """A tag to make, or a new name for one."""

    name: Name


class Merge(Signed):
    """The tag that another is merged into."""

    into: Place


class Stored(Message):
    """What every change answers with, once it is on the disk."""

    revision: int
    what: str
    rows: list[Row]


class Made(Stored):
    """A new tag."""

    tag: int


class Candidate(Message):
    """An item that a tag is likely for."""

    row: Row
    score: float


class Doubted(Candidate):
    """An item that has a tag though everybody else speaks against it."""

    usual: float


class Company(Message):
    """A tag that goes with another: the share of the other's items that have it too."""

    tag: int
    share: float


class TagPage(Message):
    """What there is to know and to do about one tag."""

    tag: Tag
    candidates: list[Candidate]
    doubts: list[Doubted]
    company: list[Company]


class Moment(Message):
    """How much was said at a time."""

    at: str
    words: int
    tagged: int


class Started(Message):
    """Whether a task has begun; it has not where one is running already."""

    started: bool


class Mapping(Message):
    """Which column is what; the same names as the options of ``lass init``."""

    id: str | None = None
    title: str | None = None
    text: list[str] = Field(default_factory=list)
    tag_column: str | None = None
    separator: Annotated[str, Field(min_length=1, max_length=5)] | None = None


class Preview(Message):
    """What a file holds, before anything is made of it."""

    upload: str
    columns: list[str]
    sample: list[list[str]]
    rows: int
    guess: Mapping


class Import(Signed):
    """Files that were uploaded, and what to make of them."""

    upload: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    mapping: Mapping
    skip_bad: bool = False


class Imported(Message):
    """What came out of an import."""

    items: int
    words: int
    tags: int
    problems: list[str]


class Refusal(Message):
    """Why something was not done, for people."""

    error: str
