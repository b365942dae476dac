"""Terms of texts, against scikit-learn's CountVectorizer."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from lass.collection.features.terms import count_terms, english_stop_words

WAYS = [("word", 1, None), ("word", 2, None), ("word", 2, "english"), ("char", 1, None), ("char", 2, None)]
#: words that repeat, stop words, spaces of all kinds, upper case that becomes longer, surrogates
WORDS = st.sampled_from(
    ["mail", "Mail", "the", "The", "a", "x", "news-reader", "naïve", "İx", "日本語", "ß_1", "\ud800"]
)
TEXTS = st.lists(
    st.lists(st.one_of(WORDS, st.text(max_size=4)), max_size=12).flatmap(
        lambda words: st.sampled_from([" ", "  ", "\n\t", ", "]).map(lambda space: space.join(words))
    ),
    max_size=8,
)


def by_scikit_learn(texts, analyzer, ngrams, stop_words):
    counter = CountVectorizer(
        analyzer=analyzer, ngram_range=(1, ngrams), stop_words=stop_words, dtype=np.int32
    )
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no words at all
        return np.zeros((len(texts), 0), np.int32), []
    return counts.toarray(), counter.get_feature_names_out().tolist()


@pytest.mark.parametrize(("analyzer", "ngrams", "stop_words"), WAYS)
@given(texts=TEXTS)
@example(texts=["", "  "])
@example(texts=["mail the mail", "THE", "mail\n\nmail"])
@settings(deadline=None, max_examples=60)
def test_the_counts_are_those_of_scikit_learn(analyzer, ngrams, stop_words, texts):
    how = {"analyzer": analyzer, "ngrams": ngrams, "stop_words": stop_words}
    counts, terms = count_terms(texts, how)
    counts.check_format(full_check=True)
    expected, names = by_scikit_learn(texts, analyzer, ngrams, stop_words)
    assert terms.tolist() == names
    np.testing.assert_array_equal(counts.toarray(), expected)
    # only terms that some texts have
    some, left = count_terms(texts, how, least=2)
    kept = (expected > 0).sum(axis=0) >= 2
    assert left.tolist() == [name for name, keep in zip(names, kept, strict=True) if keep]
    np.testing.assert_array_equal(some.toarray(), expected[:, kept])


def test_the_stop_words_are_those_of_scikit_learn():
    assert english_stop_words() == ENGLISH_STOP_WORDS
