"""Public datasets of WAV files with their labels and texts: functions that give the rows."""

from __future__ import annotations

import os
import re

import numpy as np

from msjax.dataset.sources.listed import OTHERS, Sound, files_in, folders_in, lines_of, listed, waveform

__all__ = ["CMUArcticDataset", "GTZANDataset", "LJSpeechDataset", "LibriTTSDataset", "SpeechCommandsDataset", "YesNoDataset"]


_SOUND = ("waveform", "sample_rate")


def _with_rate(path: str, *values: object, kind: type = np.int32) -> tuple[object, ...]:
    return Sound(path), np.array(waveform(path)[1], kind), *map(np.asarray, values)


@listed((*_SOUND, "label"), f"dataset_dir {OTHERS}")
def YesNoDataset(o):
    """Somebody says yes or no eight times."""
    paths = files_in(o["dataset_dir"], ".wav")
    return [_with_rate(path, np.array(os.path.basename(path)[:-4].split("_"), np.int32)) for path in paths]


@listed((*_SOUND, "label"), f"dataset_dir usage {OTHERS}", "train valid test all")
def GTZANDataset(o):
    """Music of ten kinds."""
    paths = [path for folder in folders_in(o["dataset_dir"]) for path in files_in(folder, ".wav")]
    if o["usage"] != "all":
        listed_there = set(lines_of(o["dataset_dir"], f"{o['usage']}_filtered.txt"))
        paths = [path for path in paths if os.path.relpath(path, o["dataset_dir"]) in listed_there]
    return [_with_rate(path, os.path.basename(os.path.dirname(path)), kind=np.uint32) for path in paths]


@listed((*_SOUND, "transcription", "normalized_transcription"), f"dataset_dir {OTHERS}")
def LJSpeechDataset(o):
    """One speaker reads."""
    rows = [line.split("|") for line in lines_of(o["dataset_dir"], "metadata.csv")]
    return [_with_rate(os.path.join(o["dataset_dir"], "wavs", f"{name}.wav"), *texts) for name, *texts in rows]


@listed((*_SOUND, "label", "speaker_id", "utterance_number"), f"dataset_dir usage {OTHERS}", "train test valid all")
def SpeechCommandsDataset(o):
    """Single words by many speakers."""
    top, usage = o["dataset_dir"], o["usage"]
    names = [os.path.relpath(path, top) for folder in folders_in(top) for path in files_in(folder, ".wav")]
    names = [name for name in names if not name.startswith("_background_noise_")]
    parts = {
        use: set(lines_of(top, f"{file}_list.txt"))
        for use, file in (("test", "testing"), ("valid", "validation"))
        if usage != "all"
    }
    if usage == "train":
        names = [name for name in names if name not in parts["test"] | parts["valid"]]
    elif usage != "all":
        names = [name for name in names if name in parts[usage]]
    for name in names:
        label, file = name.split(os.sep)
        speaker, _, number = file.removesuffix(".wav").partition("_nohash_")
        yield _with_rate(os.path.join(top, name), label, speaker, np.array(int(number), np.int32))


@listed((*_SOUND, "transcript", "utterance_id"), f"dataset_dir name {OTHERS}")
def CMUArcticDataset(o):
    """Sentences by one of some speakers."""
    top = os.path.join(o["dataset_dir"], f"cmu_us_{o['name'] or 'aew'}_arctic")
    for line in lines_of(top, "etc", "txt.done.data"):
        found = re.fullmatch(r'\( (\S+) "(.*)" \)', line.strip())
        if found is None:
            raise ValueError(f"{line!r} in txt.done.data names no sentence")
        name, text = found.groups()
        path = os.path.join(top, "wav", f"{name}.wav")
        yield _with_rate(path, text, name.removeprefix("arctic_"), kind=np.uint32)


_LIBRI = "dev-clean dev-other test-clean test-other train-clean-100 train-clean-360 train-other-500"


@listed(
    (*_SOUND, "original_text", "normalized_text", "speaker_id", "chapter_id", "utterance_id"),
    f"dataset_dir usage {OTHERS}",
    f"{_LIBRI} all={_LIBRI.replace(' ', '+')}",
)
def LibriTTSDataset(o):
    """Books that are read aloud."""
    top = os.path.join(o["dataset_dir"], o["usage"])
    for speaker in folders_in(top) if os.path.isdir(top) else ():
        for chapter in folders_in(speaker):
            ids = [np.array(int(os.path.basename(part)), np.uint32) for part in (speaker, chapter)]
            for text in files_in(chapter, ".trans.tsv"):
                for name, original, normal in (line.split("\t") for line in lines_of(text)):
                    yield _with_rate(os.path.join(chapter, f"{name}.wav"), original, normal, *ids, name, kind=np.uint32)
