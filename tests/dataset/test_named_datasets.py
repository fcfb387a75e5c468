"""The public datasets of the tables, each on a few small files that are written here."""

import json
import wave

import numpy as np
import pytest
from PIL import Image

from msjax import dataset as ds


def write_to(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, list):
            with wave.open(str(path), "wb") as file:
                file.setparams((1, 2, 8000, len(content), "NONE", ""))
                file.writeframes(np.array(content, "<i2").tobytes())
        else:
            Image.new("RGB", (2, 1), (content,) * 3).save(path)


def rows(name, *args, **kwargs):
    data = getattr(ds, name)(*args, shuffle=False, num_parallel_workers=1, **kwargs)
    return data.get_col_names(), [
        [value.tolist() for value in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    ]


TEXTS = {
    "AGNewsDataset": ("csv", '3,"a ""b""",c\n', ["index", "title", "description"], ["3", 'a "b"', "c"]),
    "AmazonReviewDataset": ("csv", "1,a,b\n", ["label", "title", "content"], ["1", "a", "b"]),
    "DBpediaDataset": ("csv", "1,a,b\n", ["class", "title", "content"], ["1", "a", "b"]),
    "SogouNewsDataset": ("csv", "1,a,b\n", ["index", "title", "content"], ["1", "a", "b"]),
    "YahooAnswersDataset": ("csv", "1,a,b,c\n", ["class", "title", "content", "answer"], ["1", "a", "b", "c"]),
    "YelpReviewDataset": ("csv", "1,a\n", ["label", "text"], ["1", "a"]),
    "CoNLL2000Dataset": ("txt", "a b c\nd e f\n\n", ["word", "pos_tag", "chunk_tag"], [["a", "d"], ["b", "e"], ["c", "f"]]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_two_files(tmp_path, name):
    ending, text, columns, row = TEXTS[name]
    write_to(tmp_path, {f"train.{ending}": text, f"test.{ending}": text * 2 if ending == "csv" else text + text})
    assert rows(name, str(tmp_path), "train") == (columns, [row])
    assert rows(name, str(tmp_path), "test") == (columns, [row, row])
    assert rows(name, str(tmp_path)) == (columns, [row] * 3)
    with pytest.raises(ValueError, match="usage"):
        rows(name, str(tmp_path), "some")
    write_to(tmp_path, {f"train.{ending}": "one\n"})
    with pytest.raises(RuntimeError, match="fields"):
        rows(name, str(tmp_path), "train")


def test_other_texts(tmp_path):
    pixels = " ".join(f"{n}:{-1 if n == 1 else 1}" for n in range(1, 257))
    squad = {
        "data": [{"paragraphs": [{"context": "c", "qas": [{"question": "q", "answers": [{"text": "t", "answer_start": 3}]}]}]}]
    }
    write_to(
        tmp_path,
        {
            "ptb.valid.txt": " a \n\nb\n", "wiki.test.tokens": "a\n", "en-ud-tag.v2.dev.txt": "a\tb\tc\n", "usps": f"3 {pixels}\n",
            "train-v1.1.json": json.dumps(squad), "test.tsv": "index\tsentence\n0\thi\n", "validation/val.en": "a\n",
            "validation/val.de": "b\n", "enwik9": "a\n\n b\n", "tnews.json": '{"id": 4, "sentence": "s", "keywords": "a,b"}\n',
            "wsc.json": '{"target": {"span1_index": 1, "span2_index": 2, "span1_text": "x", "span2_text": "y"}, "idx": 7, "text": "t"}\n',
        },
    )  # fmt: skip
    top = str(tmp_path)
    assert rows("PennTreebankDataset", top, "valid") == (["text"], [[" a "], ["b"]])
    assert rows("WikiTextDataset", top, "test") == (["text"], [["a"]])
    assert rows("UDPOSDataset", top, "valid") == (["word", "universal", "stanford"], [[["a"], ["b"], ["c"]]])
    assert rows("SQuADDataset", top, "train")[1] == [["c", "q", ["t"], [3]]]
    assert rows("SST2Dataset", top, "test") == (["sentence"], [["hi"]])
    assert rows("Multi30kDataset", top, "valid", ["de", "en"]) == (["text", "translation"], [["b", "a"]])
    assert rows("EnWik9Dataset", top) == (["text"], [["a"], [" b"]])
    assert rows("CLUEDataset", top + "/tnews.json", "TNEWS", "test") == (["id", "keywords", "sentence"], [[4, "a,b", "s"]])
    names, found = rows("CLUEDataset", top + "/wsc.json", "WSC", "test")
    assert dict(zip(names, found[0])) == {
        "span1_index": 1,
        "span2_index": 2,
        "span1_text": "x",
        "span2_text": "y",
        "idx": 7,
        "text": "t",
    }
    image, label = rows("USPSDataset", top, "train")[1][0]
    assert label == 2 and np.ravel(image).tolist() == [0] + [255] * 255
    with pytest.raises(RuntimeError, match="no 'label'"):
        rows("CLUEDataset", top + "/tnews.json", "TNEWS", "train")


def shades(name, *args, **kwargs):
    """Rows with the images as the shade of their one colour."""
    columns, found = rows(name, *args, decode=True, **kwargs)
    return columns, [
        [value[0][0][0] if c in ("image", "hr_image", "lr_image", "task") else value for c, value in zip(columns, row)]
        for row in found
    ]


def test_images_with_labels(tmp_path):
    png = {
        "food/images/pie/1.jpg": 1,
        "food/images/tea/2.jpg": 2,
        "food/meta/train.txt": "tea/2\n",
        "food/meta/test.txt": "pie/1\n",
    }
    write_to(
        tmp_path,
        png | {
            "lsun/bed_train/a.png": 3, "lsun/sea_train/a.png": 4, "lsun/sea_val/b.png": 5, "omni/images_background/A/c1/x.png": 6,
            "omni/images_background/B/c1/x.png": 7, "sst/train/negative/a.png": 8, "sst/train/positive/a.png": 9,
            "sun/ClassName.txt": "/b/bar\n/a/abbey\n", "sun/a/abbey/1.png": 10, "sun/b/bar/1.png": 11, "cal/one/1.png": 12, "cal/two/1.png": 13,
            "flickr/1.png": 14, "tokens": "1.png#0\tfirst\n1.png#1\tsecond\n", "div/DIV2K_valid_HR/1.png": 15,
            "div/DIV2K_valid_LR_bicubic/X2/1x2.png": 16, "places/places365_val.txt": "1.png 4\n", "places/val_256/1.png": 17,
            "city/leftImg8bit/val/rome/r1_leftImg8bit.png": 18, "city/gtFine/val/rome/r1_gtFine_labelIds.png": 19,
        },
    )  # fmt: skip
    of = lambda name: str(tmp_path / name)  # noqa: E731
    assert shades("Food101Dataset", of("food")) == (["image", "label"], [[1, "pie"], [2, "tea"]])
    assert shades("Food101Dataset", of("food"), "train")[1] == [[2, "tea"]]
    assert shades("LSUNDataset", of("lsun"), "train")[1] == [[3, 0], [4, 1]] and shades("LSUNDataset", of("lsun"), "valid")[
        1
    ] == [[5, 0]]
    assert shades("LSUNDataset", of("lsun"), "train", ["sea", "bed"])[1] == [[3, 0], [4, 1]]
    for classes in ("sea", ["sea", 3]):
        with pytest.raises(TypeError, match="'classes'"):
            ds.LSUNDataset(of("lsun"), "train", classes)
    assert shades("LSUNDataset", of("lsun"), "train", ["sea"])[1] == [[4, 0]]
    assert shades("OmniglotDataset", of("omni"))[1] == [[6, 0], [7, 1]]
    assert shades("RenderedSST2Dataset", of("sst"), "train")[1] == [[8, 0], [9, 1]]
    assert shades("SUN397Dataset", of("sun"))[1] == [[11, 0], [10, 1]] and shades("Caltech256Dataset", of("cal"))[1] == [
        [12, 0],
        [13, 1],
    ]
    assert shades("FlickrDataset", of("flickr"), of("tokens"))[1] == [[14, ["first", "second"]]]
    assert shades("DIV2KDataset", of("div"), "valid")[1] == [[15, 16]]
    assert shades("Places365Dataset", of("places"), "val")[1] == [[17, 4]]
    assert shades("CityscapesDataset", of("city"), "val", "fine", "semantic")[1] == [[18, 19]]
    assert ds.OmniglotDataset(of("omni")).num_classes() == 2 and ds.SUN397Dataset(of("sun")).num_classes() is None


def test_images_that_lists_or_matlab_files_name(tmp_path):
    from scipy.io import savemat
    from scipy.sparse import csc_matrix

    def mat(name, **values):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        savemat(tmp_path / name, values)

    write_to(tmp_path, {
        "c/101_ObjectCategories/Faces/image_0007.jpg": 1, "c/101_ObjectCategories/ant/image_0001.jpg": 2,
        **{f"f/jpg/image_0000{n}.jpg": n for n in (1, 2, 3)}, "f/segmim/segmim_00002.jpg": 9, "lfw-names.txt": "Ann 1\nBob 2\n",
        **{f"lfw_funneled/{name}.jpg": n for n, name in enumerate(("Ann/Ann_0001", "Bob/Bob_0001", "Bob/Bob_0002"))},
        "peopleDevTrain.txt": "1\nBob\t2\n", "peopleDevTest.txt": "1\nAnn\t1\n", "pairs.txt": "1\t1\nBob\t1\t2\nBob\t2\tAnn\t1\n",
        "s/img/a.jpg": 4, "s/val.txt": "a\n", "s/train.txt": "", "liberty/info.txt": "0 0\n0 0\n1 0\n",
        "liberty/m50_100000_100000_0.txt": "0 5 0 1 5 0 0\n1 5 0 2 6 0 0\n",
    })  # fmt: skip
    mat("c/Annotations/Faces_2/annotation_0007.mat", obj_contour=np.array([[1, 2], [3, 4]]))
    mat("c/Annotations/ant/annotation_0001.mat", obj_contour=np.array([[5.5], [6.0]]))
    mat("f/setid.mat", trnid=[[3]], valid=[[1]], tstid=[[2]])
    mat("f/imagelabels.mat", labels=[[7, 8, 7]])
    edges = np.empty((2, 1), object)
    edges[:, 0] = csc_matrix([[0, 1]]), csc_matrix([[1, 0]])
    mat("s/cls/a.mat", GTcls={"Segmentation": np.array([[3, 0]], np.uint8), "Boundaries": edges})
    sheet = np.arange(16 * 16, dtype=np.uint8).reshape(16, 16).repeat(64, 0).repeat(64, 1)
    Image.fromarray(sheet).save(tmp_path / "liberty" / "patches0000.bmp")
    top = str(tmp_path)
    assert shades("Caltech101Dataset", top + "/c", "all") == (
        ["image", "category", "annotation"], [[1, 0, [[1, 2], [3, 4]]], [2, 1, [[5.5], [6.0]]]],
    )  # fmt: skip
    assert shades("Caltech101Dataset", top + "/c")[1] == [[1, 0], [2, 1]]
    assert shades("Flowers102Dataset", top + "/f") == (["image", "label"], [[1, 6], [2, 7], [3, 6]])
    columns, found = rows("Flowers102Dataset", top + "/f", "Segmentation", "test", decode=True)
    assert columns == ["image", "segmentation", "label"] and found[0][1][0][0][0] == 9 and found[0][2] == 7
    assert shades("LFWDataset", top) == (["image", "label"], [[1, 1], [2, 1], [0, 0]])
    columns, found = rows("LFWDataset", top, "pairs", "10fold", decode=True)
    assert columns == ["image1", "image2", "label"]
    assert [(a[0][0][0], b[0][0][0], label) for a, b, label in found] == [(1, 2, 1), (2, 0, 0)]
    assert rows("SBDataset", top + "/s", decode=True)[1][0][1] == [[[0, 1]], [[1, 0]]]
    assert rows("SBDataset", top + "/s", "Segmentation", "val", decode=True)[1][0][1] == [[3, 0]]
    assert [np.unique(patch).tolist() for (patch,) in rows("PhotoTourDataset", top, "liberty")[1]] == [[0], [1], [2]]
    columns, found = rows("PhotoTourDataset", top, "liberty", "test")
    assert columns == ["image1", "image2", "matches"] and [(np.max(a), np.max(b), m) for a, b, m in found] == [
        (0, 1, 1),
        (1, 2, 0),
    ]
    with pytest.raises(ValueError, match="'target_type' should be 'category', 'annotation' or 'all'"):
        ds.Caltech101Dataset(top, "some").get_col_names()


def test_talks_in_two_languages(tmp_path):
    tags = "<url>u</url>\n%s\n<description>d</description>\n"
    talk = '<mteval><doc><title>t</title><seg id="1"> %s </seg></doc></mteval>'
    older, newer = "texts/de/en/de-en/", "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo/"
    write_to(tmp_path, {
        **{f"{older}train.tags.de-en.{end}": tags % text for end, text in (("de", "ja\nnein"), ("en", "yes\nno"))},
        **{f"{older}IWSLT16.TED.tst2010.de-en.{end}.xml": talk % text for end, text in (("de", "gut"), ("en", "good"))},
        **{f"{older}IWSLT16.TED.tst2014.de-en.{end}.xml": talk % text for end, text in (("de", "neu"), ("en", "new"))},
        **{f"{newer}train.tags.it-ro.{end}": tags % end for end in ("it", "ro")},
    })  # fmt: skip
    top, talks = str(tmp_path), [["ja", "yes"], ["nein", "no"], ["gut", "good"], ["neu", "new"]]
    assert rows("IWSLT2016Dataset", top, "all", ("de", "en"), "tst2010") == (["text", "translation"], talks)
    assert rows("IWSLT2017Dataset", top, "train", ["it", "ro"])[1] == [["it", "ro"]]
    with pytest.raises(ValueError, match="'language_pair' should be one of"):
        ds.IWSLT2016Dataset(top, language_pair=("de", "fr"))
    write_to(tmp_path, {f"{older}IWSLT16.TED.tst2014.de-en.en.xml": "<mteval>"})
    with pytest.raises(RuntimeError, match=r"tst2014\.de-en\.de\.xml can't be read: ParseError"):
        rows("IWSLT2016Dataset", top, "test")


def test_images_in_files_of_their_own(tmp_path):
    head = lambda *n: np.array(n, ">i4").tobytes()  # noqa: E731
    image = np.arange(784).astype(np.uint8).tobytes()
    big = np.arange(3 * 96 * 96).astype(np.uint8)
    write_to(
        tmp_path,
        {
            "emnist-mnist-test-images-idx3-ubyte": head(2051, 1, 28, 28) + image, "emnist-mnist-test-labels-idx1-ubyte": head(2049, 1) + b"\7",
            "qmnist-test-images-idx3-ubyte": head(2051, 1, 28, 28) + image,
            "qmnist-test-labels-idx2-int": head(3074, 1, 8, *range(3, 11)), "test_X.bin": big.tobytes(), "test_y.bin": b"\4",
            "semeion.data": " ".join(["1.0", *["0.0"] * 255, *"0010000000"]), "test/pos/0.txt": "good", "test/neg/0.txt": "bad",
        },
    )  # fmt: skip
    top = str(tmp_path)
    ((image, label),) = rows("EMnistDataset", top, "mnist", "test")[1]
    assert label == 7 and np.array(image).shape == (28, 28, 1) and image[0][5] == [5]
    assert rows("QMnistDataset", top, "test")[1][0][1] == 3
    assert rows("QMnistDataset", top, "test", compat=False)[1][0][1] == [*range(3, 11)]
    ((image, label),) = rows("STL10Dataset", top, "test")[1]
    # Channels first, then columns.
    assert label == 3 and image[0][1][0] == 96 and image[1][0][0] == 1 and image[0][0][1] == 96 * 96 % 256
    ((image, label),) = rows("SemeionDataset", top)[1]
    assert label == 2 and np.sum(image) == 1 and image[0][0] == 1
    assert rows("IMDBDataset", top, "test") == (["text", "label"], [["good", 1], ["bad", 0]])


def test_boxes_and_attributes(tmp_path):
    voc = "<annotation><object><name>{}</name><truncated>1</truncated><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>5</xmax><ymax>9</ymax></bndbox></object></annotation>"
    coco = {
        "images": [{"id": 5, "file_name": "a.png"}], "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{
            "image_id": 5, "category_id": 1, "bbox": [1, 2, 3, 4], "iscrowd": 0, "caption": "hi", "keypoints": [1, 2, 2], "num_keypoints": 1,
            "segmentation": [[1, 2, 3, 4]],
        }],
    }  # fmt: skip
    write_to(
        tmp_path,
        {
            "celeba/a.jpg": 1, "celeba/b.jpg": 2, "celeba/list_attr_celeba.txt": "2\nx y\na.jpg -1 1\nb.jpg 1 1\n",
            "celeba/list_eval_partition.txt": "a.jpg 0\nb.jpg 2\n", "coco/a.png": 3, "notes.json": json.dumps(coco),
            "voc/ImageSets/Main/train.txt": "1\n2\n", "voc/JPEGImages/1.jpg": 4, "voc/JPEGImages/2.jpg": 5,
            "voc/Annotations/1.xml": voc.format("dog"), "voc/Annotations/2.xml": voc.format("cat"),
            "kitti/data_object_image_2/training/image_2/0.png": 6,
            "kitti/data_object_label_2/training/label_2/0.txt": "Van 0.5 1 2 3 4 5 6 7 8 9 10 11 12 13\nCar -1 -1 -10 0 0 0 0 0 0 0 0 0 0 0\n",
            "wider/WIDER_val/images/a.jpg": 7, "wider/wider_face_split/wider_face_val_bbx_gt.txt": "a.jpg\n1\n1 2 3 4 5 6 7 8 9 10\n",
            "list.json": json.dumps({"source": str(tmp_path / "coco/a.png"), "usage": "TRAIN", "annotation": [{"name": "cat"}]}) + "\n",
        },
    )  # fmt: skip
    of = lambda name: str(tmp_path / name)  # noqa: E731
    assert shades("CelebADataset", of("celeba")) == (["image", "attr"], [[1, [0, 1]], [2, [1, 1]]])
    assert shades("CelebADataset", of("celeba"), usage="test")[1] == [[2, [1, 1]]]
    assert shades("CocoDataset", of("coco"), of("notes.json"))[1] == [[3, [[1, 2, 3, 4]], [[1]], [[0]]]]
    for task, values in (("Captioning", [[["hi"]]]), ("Keypoint", [[[1, 2, 2]], [[1]]]), ("Stuff", [[[1, 2, 3, 4]], [[0]]])):
        assert shades("CocoDataset", of("coco"), of("notes.json"), task)[1] == [[3, *values]]
    data = ds.CocoDataset(of("coco"), of("notes.json"))
    assert data.get_class_indexing() == {"cat": [1]}
    # The name of the file is a column that iterators leave out unless it is renamed.
    data = ds.CocoDataset(of("coco"), of("notes.json"), extra_metadata=True)
    assert data.get_col_names()[-1] == "_meta-filename" and [*next(data.create_dict_iterator())] == data.get_col_names()[:-1]
    data = data.rename("_meta-filename", "file")
    assert [row["file"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)] == ["a"]
    # A crowd's segmentation is the lengths of runs, and each polygon has a row of its own.
    coco["annotations"] = [{**coco["annotations"][0], "segmentation": s} for s in ([[1, 2], [3, 4]], {"counts": [5, 6, 7]})]
    write_to(tmp_path, {"notes.json": json.dumps(coco)})
    assert shades("CocoDataset", of("coco"), of("notes.json"), "Stuff")[1] == [
        [3, [[1, 2, -1], [3, 4, -1], [5, 6, 7]], [[0], [0]]]
    ]
    columns, found = shades("VOCDataset", of("voc"), "Detection")
    assert columns == ["image", "bbox", "label", "difficult", "truncate"]
    assert found == [[4, [[1, 2, 4, 7]], [[1]], [[0]], [[1]]], [5, [[1, 2, 4, 7]], [[0]], [[0]], [[1]]]]
    assert shades("VOCDataset", of("voc"), "Detection", class_indexing={"dog": 9})[1] == [
        [4, [[1, 2, 4, 7]], [[9]], [[0]], [[1]]]
    ]
    row = shades("KITTIDataset", of("kitti"))[1][0]
    assert row[:6] == [6, [[1], [0]], [[0.5], [-1]], [[1], [2**32 - 1]], [[2], [-10]], [[3, 4, 5, 6], [0, 0, 0, 0]]] and row[
        8
    ] == [[13], [0]]
    assert shades("WIDERFaceDataset", of("wider"), "valid")[1] == [[7, [[1, 2, 3, 4]], [5], [6], [7], [9], [10], [8]]]
    assert shades("ManifestDataset", of("list.json"))[1] == [[3, 0]]
    assert ds.ManifestDataset(of("list.json")).num_classes() == 1
    for kind, name, wrong in (
        (ValueError, "task", {"task": "Some"}), (TypeError, "task", {"task": 3}), (ValueError, "class_indexing", {"class_indexing": {"dog": 9}}),
        (TypeError, "class_indexing", {"task": "Detection", "class_indexing": 3}), (ValueError, "usage", {"task": "Detection", "usage": "nowhere"}),
    ):  # fmt: skip
        with pytest.raises(kind, match=f"'{name}'"):
            ds.VOCDataset(of("voc"), **wrong)
    for kind, name, wrong in ((ValueError, "task", ("notes.json", "Some")), (ValueError, "annotation_file", ("none.json",))):
        with pytest.raises(kind, match=f"'{name}'"):
            ds.CocoDataset(of("coco"), of(wrong[0]), *wrong[1:])
    write_to(tmp_path, {"voc/Annotations/1.xml": "<annotation>"})
    with pytest.raises(RuntimeError, match="no XML file"):
        rows("VOCDataset", of("voc"), "Detection")


def test_sounds(tmp_path):
    write_to(
        tmp_path,
        {
            "yes/0_1_1.wav": [0, 32767, -32767], "gtzan/blues/1.wav": [32767], "lj/wavs/a.wav": [0], "lj/metadata.csv": "a|text|normal\n",
            "words/bed/ann_nohash_2.wav": [0], "words/bird/bob_nohash_0.wav": [32767], "words/_background_noise_/x.wav": [0],
            "words/testing_list.txt": "bed/ann_nohash_2.wav\n", "words/validation_list.txt": "", "cmu_us_slt_arctic/wav/arctic_b1.wav": [0],
            "cmu_us_slt_arctic/etc/txt.done.data": '( arctic_b1 "Yes, so." )\n', "libri/dev-clean/7/8/7_8.trans.tsv": "7_8_1\tone\tOne\n",
            "libri/dev-clean/7/8/7_8_1.wav": [0],
        },
    )  # fmt: skip
    of = lambda name: str(tmp_path / name)  # noqa: E731
    assert rows("YesNoDataset", of("yes")) == (["waveform", "sample_rate", "label"], [[[[0, 1, -1]], 8000, [0, 1, 1]]])
    assert rows("GTZANDataset", of("gtzan"))[1] == [[[[1]], 8000, "blues"]]
    assert rows("LJSpeechDataset", of("lj"))[1] == [[[[0]], 8000, "text", "normal"]]
    assert rows("SpeechCommandsDataset", of("words"), "train")[1] == [[[[1]], 8000, "bird", "bob", 0]]
    assert rows("SpeechCommandsDataset", of("words"), "test")[1] == [[[[0]], 8000, "bed", "ann", 2]]
    assert rows("CMUArcticDataset", of(""), "slt")[1] == [[[[0]], 8000, "Yes, so.", "b1"]]
    assert rows("LibriTTSDataset", of("libri"), "dev-clean")[1] == [[[[0]], 8000, "one", "One", 7, 8, "7_8_1"]]
    write_to(tmp_path, {"yes/0_1_1.wav": "no"})
    with pytest.raises(RuntimeError, match="no WAV file"):
        rows("YesNoDataset", of("yes"))


def test_errors_name_the_file_of_a_row(tmp_path):
    write_to(tmp_path, {"a/1.jpg": 1, "b/2.jpg": 2, "train.txt": "one\n"})

    def fails(value):
        raise KeyError("no")

    images = ds.ImageFolderDataset(str(tmp_path), shuffle=False).map(lambda label: label, "label").rename("label", "class")
    with pytest.raises(
        RuntimeError, match=r"\[PyFunc\] failed. The corresponding data file is: .*a/1.jpg; map: row 0, .*KeyError: 'no'"
    ):
        list(images.map(fails, "image"))
    for data in (images, ds.Caltech256Dataset(str(tmp_path), shuffle=False)):
        with pytest.raises(RuntimeError, match=r"\[Resize\] failed. .*1.jpg"):
            list(data.map(ds.vision.Resize(3), data.get_col_names()[1]))
    with pytest.raises(RuntimeError, match=r"data file is: .*train\.txt"):
        list(ds.TextFileDataset(str(tmp_path / "train.txt")).map(fails))
    with pytest.raises(RuntimeError, match=r"^map: row 0"):
        list(ds.NumpySlicesDataset([1]).map(fails))


def test_decrypted_images(tmp_path):
    write_to(tmp_path, {"a/1.jpg": 7, "b/2.jpg": 9})
    for name in ("1.jpg", "2.jpg"):
        path = next(tmp_path.glob(f"*/{name}"))
        path.write_bytes(path.read_bytes()[::-1])

    def decrypt(path):
        with open(path, "rb") as file:
            return file.read()[::-1]

    assert [
        round(float(image.mean()))
        for image, _ in ds.ImageFolderDataset(str(tmp_path), shuffle=False, decode=True, decrypt=decrypt)
    ] == [7, 9]
    with pytest.raises(RuntimeError, match="decrypt function is not of type bytes"):
        list(ds.ImageFolderDataset(str(tmp_path), decrypt=lambda path: path))
    with pytest.raises(TypeError, match="'decrypt' should be a function"):
        ds.ImageFolderDataset(str(tmp_path), decrypt="key")


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda top: ds.YesNoDataset(), TypeError),
        (lambda top: ds.YesNoDataset(top, some=1), TypeError),
        (lambda top: ds.YesNoDataset(3), TypeError),
        (lambda top: ds.YesNoDataset(top + "/nowhere"), ValueError),
        (lambda top: ds.GTZANDataset(top, "some"), ValueError),
        (lambda top: ds.GTZANDataset(top, cache=1), NotImplementedError),
        (lambda top: list(ds.GTZANDataset(top)), RuntimeError),
    ],
)
def test_wrong_arguments_of_listed_datasets(tmp_path, make, error):
    with pytest.raises(error):
        make(str(tmp_path))
