"""Small data that libraries are trained on: made from a fixed seed, so that every machine has the same bytes."""

import json
import pathlib
import struct
import wave

import numpy as np
from PIL import Image


def images(folder: pathlib.Path, classes: int = 4, count: int = 10) -> None:
    """Folders of square images, one a class: train with `count` images of each, val with 4."""
    generator = np.random.default_rng(3)
    for split, number_of_images in (("train", count), ("val", 4)):
        for label in range(classes):
            place = folder / split / f"class{label}"
            place.mkdir(parents=True, exist_ok=True)
            for number in range(number_of_images):
                Image.fromarray(_picture(generator, label, 40)).save(place / f"{number}.png")


def colours(folder: pathlib.Path) -> None:
    """Folders of images of one colour each, which random crops and mirrors leave as they are: 5 classes, as `images` has them."""
    generator = np.random.default_rng(8)
    for split, count in (("train", 10), ("val", 4)):
        for label in range(5):
            place = folder / split / f"class{label}"
            place.mkdir(parents=True, exist_ok=True)
            for number in range(count):
                colour = generator.integers(0, 256, 3).astype(np.uint8)
                Image.fromarray(np.broadcast_to(colour, (40, 40, 3)).copy()).save(place / f"{number}.png")


def mnist(folder: pathlib.Path) -> None:
    """MNIST's files: 40 images to train, 16 to test."""
    generator = np.random.default_rng(4)
    for split, name, count in (("train", "train", 40), ("test", "t10k", 16)):
        idx(folder / split, name, count, generator)


def idx(folder: pathlib.Path, name: str, count: int, generator: np.random.Generator | None = None) -> None:
    """Two of MNIST's files: images and labels."""
    generator = generator or np.random.default_rng(4)
    folder.mkdir(parents=True, exist_ok=True)
    labels = np.arange(count, dtype=np.uint8) % 10
    pixels = (generator.integers(0, 100, (count, 28, 28)) + 15 * labels[:, None, None]).astype(np.uint8)
    (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + pixels.tobytes())
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def coco(folder: pathlib.Path) -> None:
    """Images with boxes in COCO's layout, its list of files and its annotations: 4 images to train, 4 to test."""
    generator = np.random.default_rng(6)
    for split in ("train2017", "val2017"):
        (folder / "images" / split).mkdir(parents=True, exist_ok=True)
        (folder / "labels" / split).mkdir(parents=True, exist_ok=True)
        names, annotations, pictures = [], [], []
        for number in range(1, 5):
            picture = generator.integers(0, 60, (64, 64, 3)).astype(np.uint8)
            lines = []
            for label in (number % 3, 2):
                left, top = (int(n) for n in generator.integers(2, 24, 2))
                picture[top : top + 30, left : left + 34, label] = 220
                lines.append(f"{label} {(left + 17) / 64:.6f} {(top + 15) / 64:.6f} {34 / 64:.6f} {30 / 64:.6f}")
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": number,
                        "category_id": label + 1,
                        "bbox": [left, top, 34, 30],
                        "area": 34 * 30,
                        "iscrowd": 0,
                        "segmentation": [],
                    }
                )
            Image.fromarray(picture).save(folder / "images" / split / f"{number:012d}.png")
            (folder / "labels" / split / f"{number:012d}.txt").write_text("\n".join(lines) + "\n")
            names.append(f"./images/{split}/{number:012d}.png")
            pictures.append({"id": number, "file_name": f"{number:012d}.png", "height": 64, "width": 64})
        (folder / f"{split}.txt").write_text("\n".join(names) + "\n")
        (folder / "annotations").mkdir(exist_ok=True)
        classes = [{"id": n + 1, "name": f"class{n}"} for n in range(3)]
        (folder / "annotations" / f"instances_{split}.json").write_text(
            json.dumps({"images": pictures, "annotations": annotations, "categories": classes})
        )


def sounds(folder: pathlib.Path) -> None:
    """Mixtures of two tones and the tones, as 16-bit files of 8 kHz."""
    generator = np.random.default_rng(7)
    for split, count in (("train-360", 5), ("dev", 2), ("test", 2)):
        for number in range(count):
            time = np.arange(32000) / 8000
            tones = [0.3 * np.sin(2 * np.pi * float(f) * time) for f in generator.uniform(100, 900, 2)]
            for name, wanted in (("mix_clean", tones[0] + tones[1]), ("s1", tones[0]), ("s2", tones[1])):
                place = folder / split / name
                place.mkdir(parents=True, exist_ok=True)
                with wave.open(str(place / f"{number}.wav"), "wb") as file:
                    file.setnchannels(1)
                    file.setsampwidth(2)
                    file.setframerate(8000)
                    file.writeframes((wanted * 32000).astype("<i2").tobytes())


def reviews(folder: pathlib.Path) -> None:
    """Sentences of two kinds, 40 each, one in a line: each kind prefers one half of the words."""
    generator = np.random.default_rng(2)
    words = [a + b + c for a in "bdfgklmnp" for b in "aeiou" for c in "lmnrst"]
    half = len(words) // 2
    folder.mkdir(parents=True, exist_ok=True)
    for label, name in enumerate(("rt-polarity.neg", "rt-polarity.pos")):
        lines = []
        for _ in range(40):
            length = int(generator.integers(8, 30))
            own = generator.integers(0, half, length) + label * half
            chosen = np.where(generator.random(length) < 0.7, own, generator.integers(0, len(words), length))
            lines.append(" ".join(words[i] for i in chosen))
        (folder / name).write_text("\n".join(lines) + "\n")


def encoded_reviews(folder: pathlib.Path) -> None:
    """The words' vectors, and sentences of 500 numbers of words in MindRecord files, which this project's writer makes."""
    from msjax.mindrecord import FileWriter

    generator = np.random.default_rng(2)
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / "weight.txt", generator.normal(0, 0.3, (101, 16)))
    writer = FileWriter(str(folder / "aclImdb_train.mindrecord"), 4, overwrite=True)
    fields = {"id": {"type": "int32"}, "label": {"type": "int32"}, "feature": {"type": "int32", "shape": [-1]}}
    writer.add_schema(fields, "nlp_schema")
    writer.add_index(["id", "label"])
    rows = []
    for number in range(32):
        label = number % 2
        words = generator.integers(50 * label, 50 * label + 51, 500).astype(np.int32)
        rows.append({"id": number, "label": label, "feature": words})
    writer.write_raw_data(rows)
    writer.commit()


def traffic(folder: pathlib.Path) -> None:
    """Speeds on 12 roads at 120 times, and which roads meet."""
    generator = np.random.default_rng(2)
    place = folder / "SZ-taxi"
    place.mkdir(parents=True, exist_ok=True)
    meet = (generator.random((12, 12)) < 0.3).astype(float)
    meet = np.maximum(meet, meet.T)
    np.fill_diagonal(meet, 0)
    np.savetxt(place / "adj.csv", meet, delimiter=",")
    speeds = 30 + 10 * np.sin(np.arange(120)[:, None] / 6 + np.arange(12) / 3) + generator.random((120, 12))
    lines = [",".join(map(str, range(12))), *(",".join(f"{v:.4f}" for v in row) for row in speeds)]
    (place / "feature.csv").write_text("\n".join(lines) + "\n")


def _picture(generator: np.random.Generator, label: int, size: int) -> np.ndarray:
    """Large patches of many colours: images that differ much, so that a network's first steps don't depend on the last digits."""
    patches = np.kron(generator.integers(0, 180, (5, 5, 3)), np.ones((size // 5, size // 5, 1), int))
    tint = np.array([label % 3 == channel for channel in range(3)]) * 40 + 10 * (label // 3)
    return (patches + tint + generator.integers(0, 15, (size, size, 3))).astype(np.uint8)
