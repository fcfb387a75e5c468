"""Throughput of data pipelines, in rows a second, beside MindSpore's and PyTorch's DataLoader with the same transforms.

    python -m tests.bench.pipelines                # msjax: without workers, with two threads, with two processes
    python tests/bench/pipelines.py --torch        # PyTorch, in an environment that has torch and Pillow
    python tests/bench/pipelines.py --mindspore    # MindSpore, in an environment that has it

The rows are made here: "digits" are arrays of 28 x 28 bytes that are scaled, normalized and transposed; "photos" are JPEG files of
320 x 256 in memory that are decoded, resized to 300 x 240, cropped to 224 x 224, mirrored by chance, normalized and transposed.
"""

import argparse
import importlib
import io
import time

import numpy as np
from PIL import Image

BATCH, ROWS = 32, {"digits": 6000, "photos": 400}
MEAN, STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)


def digits(count):
    """The arrays and labels of the first kind of rows."""
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(count, 28, 28, 1), dtype=np.uint8), rng.integers(10, size=count, dtype=np.int32)


def photos(count):
    """The JPEG files, as bytes, of the second kind of rows."""
    rng = np.random.default_rng(0)
    files = []
    for _ in range(20):
        file = io.BytesIO()
        small = Image.fromarray(rng.integers(256, size=(16, 20, 3), dtype=np.uint8))
        small.resize((320, 256), Image.Resampling.BICUBIC).save(file, "JPEG")
        files.append(file.getvalue())
    return [files[i % len(files)] for i in range(count)]


def of_dataset(package, kind, count, workers, processes):
    """A pipeline of msjax or MindSpore."""
    ds = importlib.import_module(f"{package}.dataset")
    vision = importlib.import_module(f"{package}.dataset.vision")
    options = {"num_parallel_workers": workers, "python_multiprocessing": processes}
    if kind == "digits":
        data = ds.NumpySlicesDataset(digits(count), ["image", "label"])
        operations = [vision.Rescale(1 / 255, 0.0), vision.Normalize((0.1307,), (0.3081,)), vision.HWC2CHW()]
    else:
        data = ds.GeneratorDataset([np.frombuffer(file, np.uint8) for file in photos(count)], ["image"])
        operations = [
            vision.Decode(),
            vision.Resize((240, 300)),
            vision.RandomCrop(224),
            vision.RandomHorizontalFlip(),
            vision.Normalize(MEAN, STD),
            vision.HWC2CHW(),
        ]
    return data.map(operations, "image", **options).batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)


def of_torch(kind, count, workers):
    """A DataLoader over a dataset of PyTorch's own kind."""
    import torch

    class Digits(torch.utils.data.Dataset):
        def __init__(self):
            self.images, self.labels = digits(count)

        def __len__(self):
            return len(self.images)

        def __getitem__(self, i):
            image = torch.from_numpy(self.images[i]).permute(2, 0, 1).to(torch.float32).div(255)
            return image.sub_(0.1307).div_(0.3081), self.labels[i]

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.files = photos(count)
            self.mean, self.std = (torch.tensor(v).view(3, 1, 1) for v in (MEAN, STD))

        def __len__(self):
            return len(self.files)

        def __getitem__(self, i):
            image = Image.open(io.BytesIO(self.files[i])).convert("RGB").resize((300, 240), Image.Resampling.BILINEAR)
            image = torch.from_numpy(np.array(image)).permute(2, 0, 1)
            top, left = (int(torch.randint(size - 224 + 1, ())) for size in image.shape[1:])
            image = image[:, top : top + 224, left : left + 224]
            image = image.flip(2) if torch.rand(()) < 0.5 else image
            return image.to(torch.float32).sub_(self.mean).div_(self.std).contiguous()

    rows = Digits() if kind == "digits" else Photos()
    return torch.utils.data.DataLoader(rows, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)


def rate(epochs, count):
    """Rows a second, the best of three epochs after one that isn't counted."""
    times = []
    for _ in range(4):
        started = time.perf_counter()
        for _ in epochs:
            pass
        times.append(time.perf_counter() - started)
    return count / min(times[1:])


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="measure PyTorch instead of msjax")
    parser.add_argument("--mindspore", action="store_true", help="measure MindSpore instead of msjax")
    parser.add_argument("--rows", type=int, metavar="N", help="so many of each kind (default: 6000 digits, 400 photos)")
    arguments = parser.parse_args()
    package = "torch" if arguments.torch else "mindspore" if arguments.mindspore else "msjax"
    for kind, count in ROWS.items():
        count = arguments.rows or count
        if package == "torch":
            ways = {"no workers": of_torch(kind, count, 0), "2 processes": of_torch(kind, count, 2)}
        else:
            ways = {
                "1 thread" if package == "mindspore" else "no workers": of_dataset(package, kind, count, 1, False),
                "2 threads": of_dataset(package, kind, count, 2, False),
            }
            if package == "msjax":
                ways["2 processes"] = of_dataset(package, kind, count, 2, True)
        for way, epochs in ways.items():
            print(f"{package:9}  {kind}  {way:12} {rate(epochs, count):8.0f} rows/s", flush=True)


if __name__ == "__main__":
    main()
