"""Annotations and tags of a collection in plain Python, and strategies of what people do."""

from hypothesis import strategies as st

IDS, TAGS, PEOPLE = ["a", "b"], ["x", "y"], ["ann", "bob"]
POOL = [*TAGS, "z", "w"]


class Model:
    """Annotations and names of tags, from a list of actions that stand or do not."""

    def __init__(self):
        self.names = [(name, True) for name in TAGS]
        self.actions, self.undos, self.time = [], [], 0

    def used(self):
        return {name: column for column, (name, used) in enumerate(self.names) if used}

    def by_person(self):
        result = {}
        for action in self.actions:
            if action["stands"]:
                result |= action["values"]
        return {key: value for key, value in result.items() if value}

    def annotations(self):
        """The sign of the sum over people, where it is not 0."""
        sums = {}
        for (item, column, _), value in self.by_person().items():
            sums[item, column] = sums.get((item, column), 0) + value
        return {pair: 1 if total > 0 else -1 for pair, total in sums.items() if total}

    def do(self, who, values, names):
        self.time += 1
        for column, named in names.items():
            self.names[column : column + 1] = [named]
        self.actions.append({"values": values, "names": names, "who": who, "stands": True, "time": self.time})

    def made(self, name, names):
        """The column that a new tag gets, as it will be in ``names``."""
        gone = [column for column, named in enumerate(self.names) if named == (name, False)]
        column = gone[-1] if gone else len(self.names) + sum(c >= len(self.names) for c in names)
        names[column] = (name, True)
        return column

    def column(self, name):
        if name not in self.used():
            raise ValueError(name)
        return self.used()[name]

    def annotate(self, values, new, who):
        names, placed = {}, {}
        known = self.used()
        for (item, tag), value in values.items():
            if tag not in known:
                known[tag] = self.made(tag, names) if new else self.column(tag)
            placed[item, known[tag], who] = value
        self.do(who, placed, names)

    def add_tag(self, name, who):
        if name in self.used():
            raise ValueError(name)
        names = {}
        self.made(name, names)
        self.do(who, {}, names)

    def rename_tag(self, tag, name, who):
        column = self.column(tag)
        if name in self.used():
            raise ValueError(name)
        self.do(who, {}, {column: (name, True)})

    def merge_tags(self, tag, into, who):
        source, target, stated = self.column(tag), self.column(into), self.by_person()
        if source == target:
            raise ValueError(tag)
        moved = {key: value for key, value in stated.items() if key[1] == source}
        changed = dict.fromkeys(moved, 0)
        changed |= {
            (item, target, person): value
            for (item, _, person), value in moved.items()
            if (item, target, person) not in stated
        }
        self.do(who, changed, {source: (tag, False)})

    def delete_tag(self, tag, who):
        column = self.column(tag)
        gone = {key: 0 for key in self.by_person() if key[1] == column}
        self.do(who, gone, {column: (tag, False)})

    def reverse(self, action, stands):
        before, action["stands"] = list(self.names), stands
        stated = self.by_person()
        for column, (own, _) in action["names"].items():
            states = [a["names"][column] for a in self.actions if a["stands"] and column in a["names"]]
            first = (TAGS[column], True) if column < len(TAGS) else (own, False)
            name, used = states[-1] if states else first
            self.names[column] = name, used or any(k == column for _, k, _ in stated)
        names = [name for name, used in self.names if used]
        if len(set(names)) < len(names) or any(not self.names[column][1] for _, column, _ in stated):
            action["stands"], self.names = not stands, before
            raise ValueError("in the way")

    def undo(self, who):
        self.time += 1
        for action in reversed(self.actions):
            if action["stands"] and who in (None, action["who"]):
                self.reverse(action, False)
                self.undos.append({"of": action, "open": True, "time": self.time})
                return

    def redo(self, who):
        self.time += 1
        new = max((a["time"] for a in self.actions if who in (None, a["who"])), default=0)
        for undo in reversed(self.undos):
            if undo["open"] and who in (None, undo["of"]["who"]) and undo["time"] > new:
                self.reverse(undo["of"], True)
                undo["open"] = False
                return


somebody, tag = st.sampled_from(PEOPLE), st.sampled_from(POOL)
values = st.dictionaries(
    st.tuples(st.sampled_from(IDS), tag), st.sampled_from((1, -1, 0)), min_size=1, max_size=3
)
doing = [
    st.tuples(st.just("annotate"), values, st.booleans(), somebody),
    st.tuples(st.just("add_tag"), tag, somebody),
    st.tuples(st.just("rename_tag"), tag, tag, somebody),
    st.tuples(st.just("merge_tags"), tag, tag, somebody),
    st.tuples(st.just("delete_tag"), tag, somebody),
]
taking_back = [st.tuples(st.sampled_from(("undo", "redo")), st.none() | somebody)] * 3


def perform(collection, what, *arguments):
    if what == "annotate":
        given, new, who = arguments
        return collection.annotate_all([(*pair, value) for pair, value in given.items()], new=new, who=who)
    if what in ("undo", "redo"):
        return getattr(collection, what)(*arguments)
    *arguments, who = arguments
    return getattr(collection, what)(*arguments, who=who)


def state(collection):
    """Names of tags in use and annotations, by column."""
    G, ids, names, _, retired = collection.annotation_matrix()
    used = {column: name for column, name in enumerate(names) if column not in retired}
    assert len(set(names)) == len(names)
    stated = {(ids[n], int(k)): G[n, k] for n, k in zip(*G.nonzero(), strict=True)}
    assert {column for _, column in stated} <= used.keys()
    return used, stated
