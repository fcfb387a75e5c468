"""The programs that are run: which library, on which data, with which arguments."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import yaml

from tests.libraries import made


@dataclasses.dataclass(frozen=True)
class Program:
    """A few commands of one library.

    Attributes:
        name (str): the name in the table.
        folder (str): the folder of the library's source under the path that is given; scripts are named from there.
        make (Callable): makes data and settings; gets the work folder and that of the source.
        commands (tuple): a list of words for each command, the script first. `{work}` is the work folder, `{checkpoint}` the
            newest checkpoint of a network there.
        loss (str): a regular expression; its group is a loss in a line of output.
        paths (tuple): folders under the source that Python searches for modules.
        seed (int | None): a seed to start with, for scripts that set none.
        workers (int): the number of processes.
        comparable (int | None): how many losses can be compared; None for as many as MindSpore's runs agree on.
        close (float): how far a loss may lie from the real one's.
        place (str): the folder under the work folder in which the commands run.
        changes (tuple): (file, old, new) of settings that are Python code; a copy of the source has them.
    """

    name: str
    folder: str
    make: Callable[[pathlib.Path, pathlib.Path], None]
    commands: tuple[tuple[str, ...], ...]
    loss: str = r"loss(?: is|:) (\d+\.\d+)"
    paths: tuple[str, ...] = ()
    seed: int | None = None
    workers: int = 1
    comparable: int | None = None
    close: float = 1e-4
    place: str = "."
    changes: tuple[tuple[str, str, str], ...] = ()


MINDCV = "--dataset imagenet --data_dir {work}/images --image_resize 64 --batch_size 8 --num_parallel_workers 1 --num_classes 4"
MINDCV_TRAIN = (
    f"{MINDCV} --config {{work}}/recipe.yaml --epoch_size 1 --log_interval 1 --opt momentum --lr 0.000005 "
    "--warmup_epochs 0 --seed 42 --ckpt_save_dir {work}/saved"
)
# The whole image is the crop, so that training has no random images.
WHOLE = {"scale": [1.0, 1.0], "ratio": [1.0, 1.0], "hflip": 0.0, "color_jitter": None, "dataset_sink_mode": False}


def mindcv(
    name: str, model: str = "resnet18", mode: int = 1, workers: int = 1, validate: bool = False, **recipe: object
) -> Program:
    """A recipe of mindcv's train.py, with validate.py on what it has saved where that is asked for."""

    def make(work: pathlib.Path, source: pathlib.Path) -> None:
        made.images(work / "images", count=20)
        (work / "recipe.yaml").write_text(yaml.safe_dump({**WHOLE, **recipe}))

    commands = [("train.py", *f"{MINDCV_TRAIN} --mode {mode} --model {model}".split())]
    if validate:
        arguments = f"{MINDCV} --model {model} --mode {mode} --device_target CPU --ckpt_path {{checkpoint}}"
        commands.append(("validate.py", *arguments.split()))
    return Program(f"mindcv, {name}", "mindcv", make, tuple(commands), r"[lL]oss'?: (\d+\.\d+)", workers=workers)


def conv_tasnet(work: pathlib.Path, source: pathlib.Path) -> None:
    """Two speakers' tones, and the settings of a small network."""
    made.sounds(work / "sounds")
    settings = {
        "device_target": "CPU", "device_id": 0, "device_num": 1, "continue_train": 0, "in_dir": f"{work}/sounds", "out_dir": f"{work}/lists",
        "train_dir": f"{work}/lists/train-360", "batch_size": 2, "sample_rate": 8000, "segment": 4, "L": 20, "N": 16, "B": 8, "H": 16, "P": 3,
        "X": 2, "R": 1, "C": 2, "norm_type": "gLN", "causal": 0, "mask_nonlinear": "relu", "epochs": 2, "l2": 0.0, "momentum": 0.9,
        "save_folder": f"{work}/saved",
    }  # fmt: skip
    (work / "conv_tasnet.yaml").write_text(yaml.safe_dump(settings))


def yolo(version: str) -> Program:
    """mindyolo's train.py with its smallest network of a version."""
    name = f"yolo{version}"

    def make(work: pathlib.Path, source: pathlib.Path) -> None:
        made.coco(work / "coco")
        lists = {"train_set": f"{work}/coco/train2017.txt", "val_set": f"{work}/coco/val2017.txt"}
        # The steps that prepare an image in training, without the random ones.
        prepared = [
            {"func_name": "letterbox", "scaleup": False},
            {"func_name": "label_norm", "xyxy2xywh_": True},
            {"func_name": "label_pad", "padding_size": 160, "padding_value": -1},
            {"func_name": "image_norm", "scale": 255.0},
            {"func_name": "image_transpose", "bgr2rgb": True, "hwc2chw": True},
        ]
        data = {"nc": 3, "names": ["a", "b", "c"], "num_parallel_workers": 1, "train_transforms": prepared, **lists}
        settings = {"__BASE__": [str(source / "configs" / name[:-1] / f"{name}.yaml")], "data": data}
        (work / f"{name}.yaml").write_text(yaml.safe_dump(settings))

    arguments = (
        f"--config {{work}}/{name}.yaml --device_target CPU --img_size 64 --per_batch_size 2 --epochs 5 --ms_amp_level O0 "
        "--log_interval 1 --save_dir {work}/saved"
    )
    return Program(f"mindyolo, {name}", "mindyolo", make, (("train.py", *arguments.split()),), r"\bloss: (\d+\.\d+)")


PROGRAMS = (
    mindcv("O0", validate=True),
    mindcv("graph mode", mode=0),
    # From its sixth mask on, MindSpore draws them in several threads.
    dataclasses.replace(mindcv("O0 with dropout", model="mobilenet_v3_small_075"), comparable=5),
    # Sums of float16 products are rounded in another order.
    dataclasses.replace(mindcv("O2", amp_level="O2", loss_scale=1024.0), close=2e-3),
    mindcv("EMA", ema=True, ema_decay=0.9),
    mindcv("mixup", mixup=0.2, loss="BCE"),
    mindcv("clip", clip_grad=True, clip_value=1.0),
    mindcv("distribute", workers=2, distribute=True),
    Program(
        "LeNet",
        "models/research/cv/lenet",
        lambda work, source: made.mnist(work / "mnist"),
        (
            tuple(
                "train.py --data_path {work}/mnist --device_target CPU --epoch_size 10 --batch_size 4 --ckpt_path {work}/saved "
                "--save_checkpoint_steps 10".split()
            ),
            tuple("eval.py --data_path {work}/mnist --device_target CPU --batch_size 4 --ckpt_path {checkpoint}".split()),
        ),
    ),
    Program(
        "ResNet-18",
        "models/official/cv/ResNet",
        lambda work, source: made.colours(work / "images"),
        (
            tuple(
                "train.py --config_path {source}/config/resnet18_imagenet2012_config.yaml --data_path {work}/images/train --device_target CPU "
                "--output_dir {work}/saved --epoch_size 10 --batch_size 50 --class_num 5 --train_image_size 32 --lr_max 0.008 --mode_name PYNATIVE".split()
            ),
            tuple(
                "eval.py --config_path {source}/config/resnet18_imagenet2012_config.yaml --data_path {work}/images/val --device_target CPU "
                "--batch_size 10 --class_num 5 --eval_image_size 32 --checkpoint_file_path {checkpoint}".split()
            ),
        ),
    ),
    # MindSpore's program adds to a constant Tensor, which keeps the sum of all steps' losses.
    dataclasses.replace(yolo("v5n"), comparable=1),
    yolo("v8n"),
    Program(
        "mindaudio, Conv-TasNet",
        "mindaudio/examples/conv_tasnet",
        conv_tasnet,
        (
            tuple("preprocess.py --in-dir {work}/sounds --out-dir {work}/lists".split()),
            tuple("train.py -c {work}/conv_tasnet.yaml".split()),
        ),
        paths=("../..",),
        seed=5,
    ),
    Program(
        "MindSpore-GAN, gan",
        "MindSpore-GAN",
        lambda work, source: made.idx(work / "data" / "MNIST", "train", 40),
        (("implementations/gan/gan.py", *"--n_epochs 2 --batch_size 8 --sample_interval 1000".split()),),
        r"D loss: (\d+\.\d+)",
        seed=5,
        place="implementations/gan",
    ),
    # Dropout: from its sixth mask on, MindSpore draws them in several threads.
    Program(
        "TextCNN",
        "models/research/nlp/textcnn",
        lambda work, source: made.reviews(work / "reviews"),
        (
            tuple(
                "train.py --config_path {source}/mr_config_cpu.yaml --data_path {work}/reviews --device_target CPU --epoch_size 5 "
                "--batch_size 16 --output_path {work}/saved".split()
            ),
        ),
        comparable=5,
    ),
    Program(
        "T-GCN",
        "models/research/cv/tgcn",
        lambda work, source: made.traffic(work / "traffic"),
        (("train.py",),),
        changes=(
            ("src/config.py", "device = 'Ascend'", "device = 'CPU'"),
            ("src/config.py", "epochs = 3000", "epochs = 3"),
            ("src/config.py", "data_sink = True", "data_sink = False"),
            ("src/config.py", "batch_size = 64", "batch_size = 16"),
            ("src/config.py", "hidden_dim = 100", "hidden_dim = 16"),
            ("src/config.py", "data_path = './data/'", "data_path = './traffic/'"),
        ),
    ),
    Program(
        "LSTM",
        "models/official/nlp/LSTM",
        lambda work, source: made.encoded_reviews(work / "encoded"),
        (
            tuple(
                "train.py --preprocess_path {work}/encoded --device_target CPU --batch_size 8 --embed_size 16 --num_hiddens 12 --num_epochs 3 "
                "--ckpt_path {work}/saved --run_eval False".split()
            ),
        ),
        changes=(
            # As many workers as a small machine has; what reads the words' vectors is not used, since the data are encoded.
            ("src/dataset.py", "num_parallel_workers=4", "num_parallel_workers=1"),
            ("src/imdb.py", "import gensim", "gensim = None"),
        ),
    ),
)
