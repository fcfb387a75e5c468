"""Public datasets of images with a label, a text or another image each: functions that give the rows."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from msjax.core.base.checks import check_one_of, check_str
from msjax.dataset.checks import check_list
from msjax.dataset.sources.listed import IMAGES, OTHERS, Image, files_in, folders_in, lines_of, listed
from msjax.dataset.vision.image import decode_image
from msjax.mindrecord.idx import read_idx

__all__ = [
    "Caltech101Dataset", "Caltech256Dataset", "Flowers102Dataset", "LFWDataset", "PhotoTourDataset", "SBDataset", "DIV2KDataset", "EMnistDataset", "FlickrDataset", "Food101Dataset", "IMDBDataset", "LSUNDataset",
    "ManifestDataset", "OmniglotDataset", "Places365Dataset", "QMnistDataset", "RenderedSST2Dataset", "SBUDataset",
    "STL10Dataset", "SUN397Dataset", "SVHNDataset", "SemeionDataset",
]  # fmt: skip

_LABELLED = ("image", "label")
_PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".gif")
_UNCACHED = IMAGES.removesuffix(" cache")


def _label(number: int, kind: Any = np.uint32) -> np.ndarray:
    return np.array(number, kind)


def _by_folder(folders: list[str], kind: Any = np.uint32) -> list[tuple[Any, ...]]:
    """The images in folders, with the folders' numbers as labels."""
    return [(Image(path), _label(n, kind)) for n, folder in enumerate(folders) for path in files_in(folder, *_PICTURES)]


@listed(_LABELLED, f"dataset_dir usage {IMAGES}", "train test all")
def Food101Dataset(o):
    """Images of 101 kinds of food."""
    wanted = ("train", "test") if o["usage"] == "all" else (o["usage"],)
    names = sorted(name for use in wanted for name in lines_of(o["dataset_dir"], "meta", f"{use}.txt"))
    return [(Image(os.path.join(o["dataset_dir"], "images", f"{name}.jpg")), np.array(name.partition("/")[0])) for name in names]


def _lsun_columns(o):
    for name in check_list(o["classes"], "classes", "LSUNDataset") if o["classes"] else ():
        check_str(name, "classes", "LSUNDataset")
    return _LABELLED


@listed(_lsun_columns, f"dataset_dir usage classes {IMAGES}", "train test valid=val all", shown="`image`, `label`")
def LSUNDataset(o):
    """Images of scenes, in folders such as ``bedroom_train`` and ``bedroom_val``."""
    usage, classes = o["usage"], o["classes"]
    if usage == "test":
        return [(Image(path), _label(0)) for path in files_in(os.path.join(o["dataset_dir"], "test"), *_PICTURES)]
    uses = ("train", "val") if usage == "all" else (usage,)
    folders = [f for f in folders_in(o["dataset_dir"]) if os.path.basename(f).rpartition("_")[2] in uses]
    names = sorted(classes or {os.path.basename(folder).rpartition("_")[0] for folder in folders})
    places = [(names.index(name), f) for f in folders if (name := os.path.basename(f).rpartition("_")[0]) in names]
    return [(Image(path), _label(number)) for number, folder in sorted(places) for path in files_in(folder, *_PICTURES)]


@listed(_LABELLED, f"dataset_dir background {IMAGES}")
def OmniglotDataset(o):
    """Images of characters of many alphabets."""
    top = os.path.join(o["dataset_dir"], "images_evaluation" if o["background"] is False else "images_background")
    return _by_folder([character for alphabet in folders_in(top) for character in folders_in(alphabet)], np.int32)


@listed(_LABELLED, f"dataset_dir usage {IMAGES}", "train test val=valid all=test+train+valid")
def RenderedSST2Dataset(o):
    """Images of sentences that praise or not."""
    return _by_folder(folders_in(os.path.join(o["dataset_dir"], o["usage"])))


@listed(_LABELLED, f"dataset_dir {IMAGES}")
def SUN397Dataset(o):
    """Images of 397 kinds of scenes."""
    names = [name.strip("/") for name in lines_of(o["dataset_dir"], "ClassName.txt")]
    return _by_folder([os.path.join(o["dataset_dir"], name) for name in names])


@listed(_LABELLED, f"dataset_dir {IMAGES}")
def Caltech256Dataset(o):
    """Images of 256 kinds of things, a folder each."""
    return _by_folder(folders_in(o["dataset_dir"]), np.int32)


@listed(("image", "caption"), f"dataset_dir {IMAGES}")
def SBUDataset(o):
    """Photographs with captions."""
    top = o["dataset_dir"]
    urls, captions = (lines_of(top, f"SBU_captioned_photo_dataset_{kind}.txt") for kind in ("urls", "captions"))
    # As the dataset's own loader names the images: without the first letters of the url.
    paths = [os.path.join(top, "sbu_images", url[23:].replace("/", "_")) for url in urls]
    return [(Image(path), np.array(text)) for path, text in zip(paths, captions) if os.path.isfile(path)]


@listed(("image", "annotation"), f"dataset_dir annotation_file {IMAGES}")
def FlickrDataset(o):
    """Photographs with some sentences each."""
    texts: dict[str, list[str]] = {}
    for line in lines_of(o["annotation_file"]):
        name, _, text = line.partition("\t")
        texts.setdefault(name.partition("#")[0], []).append(text.strip())
    return [(Image(os.path.join(o["dataset_dir"], name)), np.array(several)) for name, several in texts.items()]


_PLACES = {"train-standard": "data_{}_standard", "train-challenge": "data_{}_challenge", "val": "val_{}"}


@listed(_LABELLED, f"dataset_dir usage small=True decode=False {OTHERS}", "train-challenge val train-standard")
def Places365Dataset(o):
    """Images of 365 kinds of places."""
    usage, small = o["usage"], o["small"]
    folder = _PLACES[usage].format("256" if small else "large")
    rows = [line.split() for line in lines_of(o["dataset_dir"], f"places365_{usage.replace('-', '_')}.txt")]
    return [(Image(os.path.join(o["dataset_dir"], folder, name.lstrip("/"))), _label(int(number))) for name, number in rows]


@listed(("hr_image", "lr_image"), f"dataset_dir usage downgrade=bicubic scale=2 {IMAGES}", "valid all=train+valid train")
def DIV2KDataset(o):
    """Images in high and in low resolution."""
    top, use, kind, scale = o["dataset_dir"], o["usage"], o["downgrade"], o["scale"]
    place = f"DIV2K_{use}_LR_{kind}" + (f"/X{scale}" if kind in ("bicubic", "unknown") else "")
    end = f"x{scale}" + ("" if kind in ("bicubic", "unknown") else kind[0])
    for path in files_in(os.path.join(top, f"DIV2K_{use}_HR"), ".png"):
        name = os.path.basename(path).removesuffix(".png")
        yield Image(path), Image(os.path.join(top, place, f"{name}{end}.png"))


@listed(_LABELLED, f"dataset_dir {OTHERS}")
def SemeionDataset(o):
    """Digits of 16 x 16 bits."""
    rows = [np.array(line.split(), float) for line in lines_of(o["dataset_dir"], "semeion.data")]
    return [(row[:256].astype(np.uint8).reshape(16, 16), _label(int(row[256:].argmax()))) for row in rows]


@listed(_LABELLED, f"dataset_dir usage {OTHERS}", "train test unlabeled train+unlabeled all=train+test+unlabeled")
def STL10Dataset(o):
    """Images of ten kinds of things; those without a label have -1."""
    start = os.path.join(o["dataset_dir"], o["usage"])
    images = np.fromfile(f"{start}_X.bin", np.uint8).reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
    labels = [0] * len(images) if o["usage"] == "unlabeled" else np.fromfile(f"{start}_y.bin", np.uint8)
    return [(image, _label(int(label) - 1, np.int32)) for image, label in zip(images, labels)]


@listed(_LABELLED, f"dataset_dir name usage {OTHERS}", "train test all=train+test")
def EMnistDataset(o):
    """Letters and digits, in files in IDX format."""
    start = os.path.join(o["dataset_dir"], f"emnist-{o['name']}-{o['usage']}-")
    images, labels = read_idx(start + "images-idx3-ubyte", 2051, 3), read_idx(start + "labels-idx1-ubyte", 2049, 1)
    return [(image[..., None], _label(label)) for image, label in zip(images, labels)]


@listed(_LABELLED, f"dataset_dir usage compat=True {OTHERS}", "train test test10k test50k nist all=test+train+nist")
def QMnistDataset(o):
    """Digits with who wrote them; with ``compat=False`` a label has eight numbers."""
    use = o["usage"]
    part = {"test10k": "test", "test50k": "test"}.get(use, use)
    start = os.path.join(o["dataset_dir"], "xnist-" if part == "nist" else f"qmnist-{part}-")
    images = read_idx(start + "images-idx3-ubyte", 2051, 3)[..., None]
    labels = np.fromfile(start + "labels-idx2-int", ">i4")[3:].reshape(-1, 8)
    found = [*zip(images, labels[:, 0] if o["compat"] else labels)]
    found = found[:10000] if use == "test10k" else found[10000:] if use == "test50k" else found
    return [(image, np.array(label, np.uint32)) for image, label in found]


def _manifest_classes(o):
    if o["class_indexing"] is not None:
        return o["class_indexing"]
    entries = [entry for entry in map(json.loads, lines_of(o["dataset_file"])) if entry["usage"].lower() == o["usage"]]
    return {name: n for n, name in enumerate(sorted({note["name"] for e in entries for note in e.get("annotation", ())}))}


@listed(
    _LABELLED,
    "dataset_file usage=train num_samples num_parallel_workers shuffle sampler class_indexing decode=False num_shards shard_id cache",
    "inference eval train",
    classes=_manifest_classes,
)
def ManifestDataset(o):
    """Images that a file of JSON lines names, with their classes."""
    rows = []
    for line in lines_of(o["dataset_file"]):
        entry = json.loads(line)
        if entry["usage"].lower() == o["usage"]:
            rows.append((Image(entry["source"]), [note["name"] for note in entry.get("annotation", ())]))
    labels = _manifest_classes(o)
    rows = [(image, np.array([labels[n] for n in names if n in labels], np.int32)) for image, names in rows]
    return [(image, label.reshape(()) if len(label) == 1 else label) for image, label in rows if len(label)]


@listed(_LABELLED, f"dataset_dir usage {OTHERS.removesuffix(' cache')}", "train test extra all=train+test+extra")
def SVHNDataset(o):
    """Numbers of houses, in files of MATLAB."""
    from scipy.io import loadmat

    found = loadmat(os.path.join(o["dataset_dir"], f"{o['usage']}_32x32.mat"))
    return [(found["X"][..., n], _label(int(label) % 10)) for n, label in enumerate(found["y"].ravel())]


@listed(("text", "label"), f"dataset_dir usage {OTHERS}", "train test unsup all=train+test")
def IMDBDataset(o):
    """Reviews of films, a text file each."""
    use, kinds = ("train", {"unsup": -1}) if o["usage"] == "unsup" else (o["usage"], {"pos": 1, "neg": 0})
    for kind, label in kinds.items():
        for path in files_in(os.path.join(o["dataset_dir"], use, kind), ".txt"):
            with open(path, encoding="utf-8") as file:
                yield np.array(file.read()), _label(label, np.int32)


# Some folders of outlines in Caltech101 have other names than those of images.
_OUTLINES = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16", "airplanes": "Airplanes_Side_2"}
_CALTECH = {"category": (0, 1), "annotation": (0, 2), "all": (0, 1, 2)}


def _caltech_columns(o):
    task = check_one_of(o["target_type"] or "category", tuple(_CALTECH), "target_type", "Caltech101Dataset")
    return [("image", "category", "annotation")[n] for n in _CALTECH[task]]


@listed(
    _caltech_columns,
    f"dataset_dir target_type {_UNCACHED}",
    shown="`image`, and by `target_type` (category, annotation or all) `category`, `annotation`",
)
def Caltech101Dataset(o):
    """Images of 101 kinds of things, with outlines."""
    from scipy.io import loadmat

    wanted = _CALTECH[o["target_type"] or "category"]
    for number, folder in enumerate(folders_in(os.path.join(o["dataset_dir"], "101_ObjectCategories"))):
        name = os.path.basename(folder)
        for path in files_in(folder, ".jpg"):
            row: list[Any] = [Image(path), np.array(number, np.int64)]
            if 2 in wanted:
                file = os.path.basename(path).replace("image", "annotation").replace(".jpg", ".mat")
                outline = os.path.join(o["dataset_dir"], "Annotations", _OUTLINES.get(name, name), file)
                contour = loadmat(outline)["obj_contour"]
                row.append(contour.astype(contour.dtype.newbyteorder("=")))
            yield [row[n] for n in wanted]


def _flowers_columns(o):
    task = check_one_of(o["task"], ("Classification", "Segmentation"), "task", "Flowers102Dataset")
    return ("image", "label") if task == "Classification" else ("image", "segmentation", "label")


@listed(
    _flowers_columns,
    f"dataset_dir task=Classification usage {_UNCACHED}",
    "train valid test all",
    shown='`image`, with `task="Segmentation"` `segmentation`, and `label`',
)
def Flowers102Dataset(o):
    """Images of 102 kinds of flowers."""
    from scipy.io import loadmat

    top, parts = o["dataset_dir"], loadmat(os.path.join(o["dataset_dir"], "setid.mat"))
    labels = loadmat(os.path.join(top, "imagelabels.mat"))["labels"].ravel()
    uses = ("train", "valid", "test") if o["usage"] == "all" else (o["usage"],)
    numbers = sorted(int(n) for use in uses for n in parts[{"train": "trnid", "valid": "valid", "test": "tstid"}[use]].ravel())
    folders = [("jpg", "image")] + [("segmim", "segmim")] * (o["task"] == "Segmentation")
    return [
        (*(Image(os.path.join(top, folder, f"{start}_{n:05d}.jpg")) for folder, start in folders), _label(int(labels[n - 1]) - 1))
        for n in numbers
    ]


_FACES = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}


def _lfw_columns(o):
    check_one_of(o["image_set"] or "funneled", tuple(_FACES), "image_set", "LFWDataset")
    task = check_one_of(o["task"] or "people", ("people", "pairs"), "task", "LFWDataset")
    return ("image", "label") if task == "people" else ("image1", "image2", "label")


@listed(
    _lfw_columns,
    f"dataset_dir task usage image_set {IMAGES}",
    "10fold train test all",
    shown='`image`, `label`; with `task="pairs"` `image1`, `image2`, `label`, 1 for the same person',
)
def LFWDataset(o):
    """Faces, or pairs of them."""
    top, pairs = o["dataset_dir"], o["task"] == "pairs"
    labels = {line.split()[0]: n for n, line in enumerate(lines_of(top, "lfw-names.txt"))}
    lists = {"train": ("DevTrain",), "test": ("DevTest",), "10fold": ("",), "all": ("DevTrain", "DevTest")}[o["usage"]]
    things = [line.split() for part in lists for line in lines_of(top, f"{'pairs' if pairs else 'people'}{part}.txt")[1:]]

    def image(name, number):
        return Image(os.path.join(top, _FACES[o["image_set"] or "funneled"], name, f"{name}_{int(number):04d}.jpg"))

    if pairs:
        return [
            (image(t[0], t[1]), image(t[0] if len(t) == 3 else t[2], t[-1]), _label(int(len(t) == 3)))
            for t in things
            if len(t) > 2
        ]
    # A line with one word says how many people follow.
    return [(image(t[0], n + 1), _label(labels[t[0]])) for t in things if len(t) == 2 for n in range(int(t[1]))]


_TOURS = ("notredame", "yosemite", "liberty", "notredame_harris", "yosemite_harris", "liberty_harris")


def _photo_tour_columns(o):
    check_one_of(o["name"], _TOURS, "name", "PhotoTourDataset")
    return ("image",) if o["usage"] == "train" else ("image1", "image2", "matches")


@listed(
    _photo_tour_columns,
    f"dataset_dir name usage {OTHERS}",
    "test train",
    shown="for training `image`; for testing `image1`, `image2`, `matches`, 1 for the same point",
)
def PhotoTourDataset(o):
    """Patches of 64 x 64 pixels of photographs, or pairs of them."""
    folder = os.path.join(o["dataset_dir"], o["name"])
    count = len(lines_of(folder, "info.txt"))
    sheets = [decode_image(np.fromfile(path, np.uint8)).array() for path in files_in(folder, ".bmp")]
    # A sheet has 16 x 16 patches of 64 x 64 pixels.
    patches = [p for s in sheets for p in s[..., :1].reshape(16, 64, 16, 64, 1).swapaxes(1, 2).reshape(256, 64, 64, 1)][:count]
    if o["usage"] == "train":
        return [(patch,) for patch in patches]
    pairs = [[*map(int, line.split())] for line in lines_of(folder, "m50_100000_100000_0.txt")]
    return [(patches[p[0]], patches[p[3]], _label(int(p[1] == p[4]))) for p in pairs]


@listed(("image", "task"), f"dataset_dir task=Boundaries usage {_UNCACHED}", "train val train_noval all=train+val")
def SBDataset(o):
    """Photographs with the boundaries or the masks of things."""
    from scipy.io import loadmat

    check_one_of(o["task"], ("Boundaries", "Segmentation"), "task", "SBDataset")
    for name in map(str.strip, lines_of(o["dataset_dir"], f"{o['usage']}.txt")):
        found = loadmat(os.path.join(o["dataset_dir"], "cls", f"{name}.mat"))["GTcls"][0]
        mask = found["Segmentation"][0]
        if o["task"] == "Boundaries":
            mask = np.stack([edge[0].toarray() for edge in found["Boundaries"][0]])
        yield Image(os.path.join(o["dataset_dir"], "img", f"{name}.jpg")), mask
