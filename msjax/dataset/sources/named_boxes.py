"""Public datasets of images with boxes, attributes or masks: functions that give the rows."""

from __future__ import annotations

import json
import os
from typing import Any
from xml.etree import ElementTree

import numpy as np

from msjax.core.base.checks import check_one_of, check_str, check_type, check_value
from msjax.dataset.sources.listed import IMAGES, Image, files_in, folders_in, lines_of, listed

__all__ = ["CelebADataset", "CityscapesDataset", "CocoDataset", "KITTIDataset", "VOCDataset", "WIDERFaceDataset"]


def _column(values: Any, kind: Any = np.uint32) -> np.ndarray:
    """Numbers, one below the other."""
    return np.array([*values], kind).reshape(-1, 1)


@listed(
    ("image", "attr"),
    "dataset_dir num_parallel_workers shuffle usage=all sampler decode=False extensions num_samples num_shards shard_id cache decrypt",
    "train valid test all",
)
def CelebADataset(o):
    """Faces with 40 attributes, 1 or 0."""
    top, usage = o["dataset_dir"], o["usage"]
    lines = lines_of(top, "list_attr_celeba.txt")[2:]
    if usage != "all":
        number = {"train": "0", "valid": "1", "test": "2"}[usage]
        wanted = {name for name, part in map(str.split, lines_of(top, "list_eval_partition.txt")) if part == number}
        lines = [line for line in lines if line.split()[0] in wanted]
    for name, *attributes in map(str.split, lines):
        if not o["extensions"] or name.endswith(tuple(o["extensions"])):
            yield Image(os.path.join(top, name)), (np.array(attributes, int) == 1).astype(np.uint32)


_KITTI = ("label", "truncated", "occluded", "alpha", "bbox", "dimensions", "location", "rotation_y")


@listed(
    lambda o: ("image",) if o["usage"] == "test" else ("image", *_KITTI),
    f"dataset_dir usage {IMAGES}",
    "test train",
    shown="`image`, and for training " + ", ".join(f"`{name}`" for name in _KITTI),
)
def KITTIDataset(o):
    """Images of streets with boxes."""
    top = o["dataset_dir"]
    if o["usage"] == "test":
        return [(Image(path),) for path in files_in(os.path.join(top, "data_object_image_2", "testing", "image_2"))]
    rows = []
    for path in files_in(os.path.join(top, "data_object_image_2", "training", "image_2")):
        text = os.path.join(
            top, "data_object_label_2", "training", "label_2", os.path.splitext(os.path.basename(path))[0] + ".txt"
        )
        things = [line.split() for line in lines_of(text)]
        numbers = np.array([thing[1:] for thing in things], np.float32)
        rows.append((path, [thing[0] for thing in things], numbers))
    labels = {name: n for n, name in enumerate(sorted({name for _, names, _ in rows for name in names}))}
    return [
        (
            Image(path), _column(labels[name] for name in names), n[:, :1], n[:, 1:2].astype(np.int32).astype(np.uint32), n[:, 2:3],
            n[:, 3:7], n[:, 7:10], n[:, 10:13], n[:, 13:14],
        )
        for path, names, n in rows
    ]  # fmt: skip


_WIDER = ("bbox", "blur", "expression", "illumination", "occlusion", "pose", "invalid")


@listed(
    lambda o: ("image",) if o["usage"] == "test" else ("image", *_WIDER),
    f"dataset_dir usage {IMAGES}",
    "train test valid all=train+valid",
    shown="`image`, and but for testing " + ", ".join(f"`{name}`" for name in _WIDER),
)
def WIDERFaceDataset(o):
    """Images with the boxes of faces."""
    top, short = o["dataset_dir"], "val" if o["usage"] == "valid" else o["usage"]
    folder = os.path.join(top, f"WIDER_{short}", "images")
    if short == "test":
        for name in lines_of(top, "wider_face_split", "wider_face_test_filelist.txt"):
            yield (Image(os.path.join(folder, name)),)
        return
    lines = lines_of(top, "wider_face_split", f"wider_face_{short}_bbx_gt.txt")
    while lines:
        name, count, lines = lines[0], max(int(lines[1]), 1), lines[2:]
        n = np.array([line.split() for line in lines[:count]], np.int32)
        lines = lines[count:]
        blur, expression, light, invalid, occlusion, pose = n[:, 4:10].T
        yield Image(os.path.join(folder, name)), n[:, :4], blur, expression, light, occlusion, pose, invalid


_COCO = {
    "Detection": ("bbox", "category_id", "iscrowd"),
    "Stuff": ("segmentation", "iscrowd"),
    "Keypoint": ("keypoints", "num_keypoints"),
    "Panoptic": ("bbox", "category_id", "iscrowd", "area"),
    "Captioning": ("captions",),
}


def _coco_classes(o):
    if o["task"] not in ("Detection", "Panoptic"):
        raise NotImplementedError(
            f"For 'CocoDataset', the classes are those of Detection and Panoptic, but the task is {o['task']}."
        )
    with open(o["annotation_file"], encoding="utf-8") as file:
        known = json.load(file)["categories"]
    return {c["name"]: [c["id"], int(c["isthing"])] if o["task"] == "Panoptic" else [c["id"]] for c in known}


def _coco_columns(o):
    check_str(o["annotation_file"], "annotation_file", "CocoDataset")
    check_value(o["annotation_file"], os.path.isfile(o["annotation_file"]), "be a file", "annotation_file", "CocoDataset")
    check_one_of(check_str(o["task"], "task", "CocoDataset"), tuple(_COCO), "task", "CocoDataset")
    return ("image", *_COCO[o["task"]])


@listed(
    _coco_columns,
    f"dataset_dir annotation_file task=Detection {IMAGES} extra_metadata=False decrypt",
    classes=_coco_classes,
    shown="`image` and, of the task, " + "; ".join(f"{task}: {', '.join(names)}" for task, names in _COCO.items()),
)
def CocoDataset(o):
    """Images with the annotations of a JSON file in COCO's format."""
    with open(o["annotation_file"], encoding="utf-8") as file:
        content = json.load(file)
    names = {image["id"]: image["file_name"] for image in content["images"]}
    known = {category["id"] for category in content.get("categories", ())}
    of_image: dict[Any, list[Any]] = {}
    for note in content["annotations"]:
        several = note["segments_info"] if o["task"] == "Panoptic" else [note]
        for one in several if "category_id" in _COCO[o["task"]] else ():
            if one["category_id"] not in known:
                raise ValueError(f"{o['annotation_file']}: there is no category {one['category_id']}")
        of_image.setdefault(note["image_id"], []).extend(several)
    folder = o["dataset_dir"]
    return [(Image(os.path.join(folder, names[i])), *_noted(o["task"], of_image[i])) for i in names if i in of_image]


def _noted(task, notes):
    """The values of the columns beside the image."""
    crowd = _column(int(note.get("iscrowd", 0)) for note in notes)
    if task == "Captioning":
        return (np.array([[note["caption"]] for note in notes]),)
    if task == "Keypoint":
        return np.array([note["keypoints"] for note in notes], np.float32), _column(note["num_keypoints"] for note in notes)
    if task == "Stuff":
        # Of a crowd it is not polygons but lengths of runs.
        several = [note["segmentation"] for note in notes]
        parts = [part for one in several for part in ([one["counts"]] if isinstance(one, dict) else one)]
        longest = max(map(len, parts))
        filled = np.array([np.pad(part, (0, longest - len(part)), constant_values=-1) for part in parts], np.float32)
        return filled, crowd
    boxes = np.array([note["bbox"] for note in notes], np.float32), _column(note["category_id"] for note in notes), crowd
    return (*boxes, _column(note["area"] for note in notes)) if task == "Panoptic" else boxes


_VOC = {"Segmentation": ("target",), "Detection": ("bbox", "label", "difficult", "truncate")}


def _voc_columns(o):
    who = "VOCDataset"
    task = check_one_of(check_str(o["task"], "task", who), tuple(_VOC), "task", who)
    if o["class_indexing"] is not None:
        check_value(o["class_indexing"], task == "Detection", "be None but for Detection", "class_indexing", who)
        check_type(o["class_indexing"], dict, "class_indexing", who)
    check_value(
        check_str(o["usage"], "usage", who),
        os.path.isfile(_voc_list(o)),
        f"name a file, as {_voc_list(o)} would be",
        "usage",
        who,
    )
    return ("image", *_VOC[task])


def _voc_list(o):
    """The file with the names of the images."""
    folder = "Segmentation" if o["task"] == "Segmentation" else "Main"
    return os.path.join(o["dataset_dir"], "ImageSets", folder, f"{o['usage']}.txt")


def _voc_classes(o):
    if o["task"] != "Detection":
        raise NotImplementedError("For 'VOCDataset', the classes are those of the task Detection.")
    names = [line.strip() for line in lines_of(_voc_list(o))]
    return _voc_labels(o, [_voc_things(os.path.join(o["dataset_dir"], "Annotations", f"{name}.xml")) for name in names])


def _voc_labels(o, things):
    """{name of a class: label}."""
    if o["class_indexing"] is not None:
        return o["class_indexing"]
    return {name: n for n, name in enumerate(sorted({thing[0] for several in things for thing in several}))}


def _voc_things(path):
    """(name, box, difficult, truncated) of the things in an image."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} is no XML file: {error}") from error
    found = []
    for thing in root.iter("object"):
        left, top, right, bottom = (float(thing.findtext(f"bndbox/{side}", "-1")) for side in ("xmin", "ymin", "xmax", "ymax"))
        if not (0 <= left <= right and 0 <= top <= bottom):
            raise ValueError(f"{path}: the box ({left}, {top}, {right}, {bottom}) is none")
        numbers = [int(thing.findtext(name, "0")) for name in ("difficult", "truncated")]
        found.append((thing.findtext("name", ""), (left, top, right - left, bottom - top), *numbers))
    if not found:
        raise ValueError(f"{path} names no object")
    return found


@listed(
    _voc_columns,
    f"dataset_dir task=Segmentation usage=train class_indexing {IMAGES} extra_metadata=False decrypt",
    classes=_voc_classes,
    shown="`image` and, of the task, " + "; ".join(f"{task}: {', '.join(names)}" for task, names in _VOC.items()),
)
def VOCDataset(o):
    """Images with masks or boxes, in PASCAL VOC's format."""
    top, task = o["dataset_dir"], o["task"]
    names = [line.strip() for line in lines_of(_voc_list(o))]
    paths = [Image(os.path.join(top, "JPEGImages", f"{name}.jpg")) for name in names]
    if task == "Segmentation":
        yield from ((path, Image(os.path.join(top, "SegmentationClass", f"{name}.png"))) for path, name in zip(paths, names))
        return
    things = [_voc_things(os.path.join(top, "Annotations", f"{name}.xml")) for name in names]
    labels = _voc_labels(o, things)
    for path, several in zip(paths, things):
        several = [thing for thing in several if thing[0] in labels]
        if several:
            found, boxes, difficult, truncated = zip(*several)
            yield path, np.array(boxes, np.float32), _column(labels[n] for n in found), _column(difficult), _column(truncated)


@listed(("image", "task"), f"dataset_dir usage=train quality_mode=fine task=instance {IMAGES}", "test val train_extra all train")
def CityscapesDataset(o):
    """Images of streets with masks."""
    top, task, fine = o["dataset_dir"], o["task"], o["quality_mode"] == "fine"
    quality = "gtFine" if fine else "gtCoarse"
    uses = {"all": ("train", "test", "val") if fine else ("train", "train_extra", "val")}.get(o["usage"], (o["usage"],))
    kinds = {"instance": "instanceIds.png", "semantic": "labelIds.png", "color": "color.png", "polygon": "polygons.json"}
    for use in uses:
        for city in folders_in(os.path.join(top, "leftImg8bit", use)):
            for path in files_in(city, ".png"):
                name = os.path.basename(path).removesuffix("_leftImg8bit.png") + f"_{quality}_{kinds[task]}"
                other = os.path.join(top, quality, use, os.path.basename(city), name)
                if task == "polygon":
                    with open(other, encoding="utf-8") as file:
                        yield Image(path), np.array(file.read())
                else:
                    yield Image(path), Image(other)
