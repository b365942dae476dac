"""Random histories of a collection, with fits, deaths and reopenings, against a model in plain Python."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lass
from collection_model import IDS, TAGS, Model, doing, perform, state, taking_back
from lass.collection import Item
from lass.tagging import load_model
from lass.tagging.canonical import fingerprint

TEXTS = ("reads mail", "mail and news", "a chess game", "a card game", "chess and cards", "news of chess")
STAGES = ("features", "neighbours", "graph", "solve", "scores", "saving")


class Death(BaseException):
    """A process that ends here."""


class Histories(RuleBasedStateMachine):
    """Whatever is done in whatever order: the disk holds what the model does, and no array is taken for fresh
    that was computed from anything else.
    """

    @initialize()
    def make(self):
        self.place, self.copies = Path(tempfile.mkdtemp()), 0
        items = [Item(name, "", text) for name, text in zip(IDS, TEXTS, strict=False)]
        how = lass.collection.Settings(features={"kind": "text"}, n_neighbors=2)
        self.collection = lass.Collection.create(self.place / "0", items, TAGS, settings=how)
        self.model, self.items = Model(), len(IDS)
        self._fast()

    def _fast(self):
        # the copies of a death are made of what the system holds: here the disk proves nothing
        self.collection._database._connection.execute("PRAGMA synchronous = OFF")

    def teardown(self):
        if hasattr(self, "collection"):
            assert self.collection.check() == []
            self.collection.close()
            shutil.rmtree(self.place)

    @rule(step=st.one_of(*doing, *taking_back))
    def do(self, step):
        what, *arguments = step
        try:
            getattr(self.model, what)(*arguments)
        except ValueError:
            with pytest.raises(ValueError, match=r"\w"):
                perform(self.collection, what, *arguments)
        else:
            perform(self.collection, what, *arguments)

    @precondition(lambda self: self.items < len(TEXTS))
    @rule()
    def add_items(self):
        self.collection.add_items([Item(f"added {self.items}", "", TEXTS[self.items])])
        self.items += 1

    @rule(lam=st.sampled_from([None, None, 1.0, 3.0]))
    def fit(self, lam):
        result = self.collection.fit(draw_map=False, **({} if lam is None else {"lam": lam}))
        assert self.collection.stale().keys() <= {"assignments"} - (
            {"assignments"} if result.model else set()
        )
        assert (result.model is None) == (not self.model.annotations())

    @rule(stage=st.sampled_from(STAGES), lam=st.sampled_from([None, 7.0]))
    def die_in_a_fit(self, stage, lam):
        def report(progress):
            if progress.stage == stage:
                raise Death

        before = self.collection.settings.lam
        try:
            self.collection.fit(report=report, draw_map=False, **({} if lam is None else {"lam": lam}))
        except Death:
            assert lass.collection.Settings.read(self.collection.path / "collection.toml").lam == before

    @rule(step=st.one_of(*doing), finished=st.booleans())
    def die(self, step, finished):
        """All processes end, in the middle of a transaction or after it; what is there is opened again."""
        self.copies += 1
        copy = self.place / str(self.copies)
        if finished:
            self.do(step)
            shutil.copytree(self.collection.path, copy)
        else:
            with suppress(Death), self.collection._database.writing() as connection:
                connection.execute("INSERT INTO categories VALUES (1000, 'half done')")
                connection.execute("PRAGMA cache_spill = ON")
                shutil.copytree(self.collection.path, copy)
                raise Death
        self.collection.close()
        (copy / "tags.sqlite-shm").unlink(missing_ok=True)
        self.collection = lass.open(copy)
        self._fast()

    @rule()
    def reopen(self):
        path = self.collection.path
        self.collection.close()
        self.collection = lass.open(path)
        self._fast()

    @invariant()
    def the_disk_holds_what_the_model_does(self):
        if not hasattr(self, "collection"):
            return
        used, stated = state(self.collection)
        assert {name: column for column, name in used.items()} == self.model.used()
        assert stated == self.model.annotations()
        assert len(self.collection) == self.items
        with lass.open(self.collection.path, read_only=True) as other:
            assert state(other) == (used, stated)

    @invariant()
    def what_is_called_fresh_belongs_together(self):
        if not hasattr(self, "collection") or not self.model.annotations():
            return
        stamp = self.collection.saved_stamp("assignments")
        if stamp is None or self.collection.stale():
            return
        model, annotations = load_model(self.collection)
        assert stamp.source == self.collection.saved_stamp("graph").token
        assert model.solution.Z.shape == (self.items, len(annotations.names))
        np.testing.assert_allclose(model.solution.Z.to_dense().sum(axis=1), 1.0, atol=1e-6)
        saved = self.collection.saved_array("assignments")
        if model.retrained:
            now = fingerprint(annotations, self.collection.settings)
            assert str(saved.extras["trained_on"]) == now


Histories.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TestHistories = Histories.TestCase
