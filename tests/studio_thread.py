"""A session of the Studio and its trainer in this process."""

import time
from contextlib import contextmanager

from lass.studio.events import Events
from lass.studio.session import Session
from lass.studio.trainer import Trainer


@contextmanager
def running(folder):
    """A session, and its trainer until the end."""
    holder = []
    session = Session(folder, lambda *_: holder[0].notify() if holder else None)
    trainer = Trainer(session, Events())
    holder.append(trainer)
    trainer.start()
    try:
        yield session, trainer
    finally:
        trainer.stop()
        trainer.join(60)
        session.close()


def wait(condition, seconds=90.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
