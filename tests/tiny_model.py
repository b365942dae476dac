"""A sentence-embedding model of a few kilobytes: the mean of a vector for each known term."""

import numpy as np

#: terms of one line mean the same
MEANINGS = (
    "mail letter post message inbox",
    "game chess play dice puzzle",
    "editor text cursor buffer typing",
)


def save_tiny_model(folder, meanings=MEANINGS, size=8):
    """Save it in a folder, as sentence-transformers saves its models, and return the folder."""
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers

    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError:  # before version 6
        from sentence_transformers.models import StaticEmbedding

    terms = {"[UNK]": 0}
    vectors = [np.zeros(size)]
    generator = np.random.default_rng(0)
    for line in meanings:
        centre = generator.normal(size=size)
        for term in line.split():
            terms[term] = len(terms)
            vectors.append(centre + 0.05 * generator.normal(size=size))
    tokenizer = Tokenizer(models.WordLevel(terms, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    layer = StaticEmbedding(tokenizer, embedding_weights=np.array(vectors, np.float32))
    SentenceTransformer(modules=[layer], device="cpu").save(str(folder))
    return folder
