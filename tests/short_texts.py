"""Short texts on three topics, for collections that are fitted in a moment."""

import numpy as np

from lass.collection import Item

TOPICS = ("mail inbox imap smtp letter spam", "game chess dice player board", "editor cursor buffer indent")


def topics(count, first=0):
    """Short texts on three topics, one after the other."""
    rng = np.random.default_rng(first)
    return [
        Item(f"{n:03d}", "", " ".join(rng.permutation(TOPICS[n % 3].split())[:3]))
        for n in range(first, first + count)
    ]
