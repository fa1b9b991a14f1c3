"""Real models with a measure of their own: what a person would look at to tell whether the model still works."""
import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from accuracy import images, sentences, speech, words
from accuracy.task import CALIBRATION_SENTENCES, DATA, MODELS, ROOT, SENTENCES
from fetch_real_models import FOLDER, models
from PIL import Image

PHOTOS = ROOT / "scripts/photos.txt"


@dataclasses.dataclass(frozen=True)
class Task:
    """A model, samples, a measure from a session to a number (more is better), and a good and a broken recipe."""
    name: str
    kind: str
    measure_name: str
    model: object
    samples: Callable
    measure: Callable
    good: str
    broken: str


def real(file):
    return next(one.path for one in models() if one.file.endswith(file))


def outputs(session, feeds):
    return list(session.run(feeds).values())


# --- images ---

@functools.cache
def photos(size):
    """Crops of photos, 0 to 1."""
    rng, crops = np.random.default_rng(1), []
    for one in models(PHOTOS):
        image = Image.open(one.path).convert("RGB")
        for k in range(5):
            side = min(image.size) * (1 if k == 0 else rng.uniform(0.6, 1))
            left, top = (rng.uniform(0, length - side) for length in image.size)
            crop = image.crop((int(left), int(top), int(left + side), int(top + side))).resize((size, size))
            crops.append((np.asarray(crop, np.float32) / 255).transpose(2, 0, 1)[None])
    return crops


def overlap(box, boxes):
    """Intersection over union of corners."""
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    both = np.prod(np.maximum(high - low, 0), axis=1)
    return both / (np.prod(box[2:] - box[:2]) + np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) - both + 1e-9)


def suppressed(boxes, scores, classes, threshold=0.25):
    """Detections after non-maximum suppression: (box, class)."""
    found, order = [], np.argsort(-scores)
    for i in order[scores[order] > threshold]:
        if all(classes[i] != c or overlap(boxes[i], b[None])[0] < 0.5 for b, c in found):
            found.append((boxes[i], classes[i]))
    return found


def corners(boxes):
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


def yolo(rows, classes):
    rows = rows[0].T
    scores = rows[:, 4:4 + classes]
    return suppressed(corners(rows[:, :4]), scores.max(1), scores.argmax(1))


def yolo_face(rows):
    rows = rows[0]
    return suppressed(corners(rows[:, :4]), rows[:, 4] * rows[:, 15], np.zeros(len(rows)))


def detections(model, inputs, decode):
    """F1 of the detections of the float model, over all images."""
    @functools.cache
    def expected():
        import anybit
        session = anybit.Session(model)
        return [decode(outputs(session, one)[0]) for one in inputs()]

    def measure(session):
        right = total = 0
        for one, wanted in zip(inputs(), expected()):
            found = decode(outputs(session, one)[0])
            total += len(found) + len(wanted)
            left = list(found)
            for box, kind in wanted:
                hit = next((k for k, (b, c) in enumerate(left) if c == kind and overlap(box, b[None])[0] > 0.5), None)
                if hit is not None:
                    left.pop(hit)
                    right += 2
        return right / max(total, 1)
    return measure


def detector(name, file, size, decode, good, broken):
    inputs = functools.partial(photos, size)
    path = real(file)
    return Task(name, "detector", "detections, F1", path, inputs, detections(path, inputs, decode), good, broken)


@functools.cache
def pages():
    """Printed words on a page, normalized as the text detector takes them."""
    _, lines = words.lines(SENTENCES[:CALIBRATION_SENTENCES], 48, 5)
    all_pages = []
    for k in range(8):
        page = np.full((3, 320, 320), 0.9, np.float32)
        for row in range(5):
            line = lines[k * 5 + row]
            width = min(300, int(np.abs(line).max((0, 1)).nonzero()[0].max()) + 1)
            page[:, 10 + row * 60:58 + row * 60, 10:10 + width] = line[:, :, :width]
        all_pages.append(page[None])
    return all_pages


def text_area(model):
    @functools.cache
    def expected():
        import anybit
        session = anybit.Session(model)
        return [outputs(session, page)[0] > 0.3 for page in pages()]

    def measure(session):
        both = either = 0
        for page, wanted in zip(pages(), expected()):
            found = outputs(session, page)[0] > 0.3
            both, either = both + (found & wanted).sum(), either + (found | wanted).sum()
        return both / max(either, 1)
    return measure


@functools.cache
def directions(seed):
    """Words, upright and turned by 180 degrees."""
    _, lines = words.lines(SENTENCES[:CALIBRATION_SENTENCES], 64, seed)
    upright = [line[:, :, :192] for line in lines]
    turned = [line[:, ::-1, ::-1].copy() if k % 2 else line for k, line in enumerate(upright)]
    return np.stack(turned), np.arange(len(turned)) % 2


def right_direction(session):
    pixels, turned = directions(9)
    return float((outputs(session, pixels)[0].argmax(1) == turned).mean())


def top_1(load, count):
    def measure(session):
        pixels, labels = load()
        said = np.concatenate([outputs(session, pixels[at:at + 100])[0].argmax(1) for at in range(0, count, 100)])
        return float((said == labels[:count]).mean())
    return measure


def read_words(session):
    return words.scores(lambda feeds: outputs(session, feeds), count=40)[1] / 100


@functools.cache
def halved():
    """Photos of 256 pixels, and the same at half the size."""
    pairs = []
    for photo in photos(256)[::2]:
        image = Image.fromarray((photo[0].transpose(1, 2, 0) * 255).round().astype(np.uint8))
        small = np.asarray(image.resize((128, 128), Image.BILINEAR), np.float32) / 255
        pairs.append((photo, small.transpose(2, 0, 1)[None]))
    return pairs


def restored(session):
    """The mean peak signal-to-noise ratio to the photos, in dB."""
    return float(np.mean([-10 * np.log10(np.mean((outputs(session, small)[0].clip(0, 1) - photo) ** 2)) for photo, small in halved()]))


# --- sound and text ---

def speech_frames(session):
    run = lambda feeds: outputs(session, feeds)
    said = np.concatenate([speech.at_once(run, frames)[0] for frames, _ in speech.clips()[:8]])
    inside = np.concatenate([inside for _, inside in speech.clips()[:8]])
    return float(((said > 0.5) == inside).mean())


def same_neighbours(session):
    rows = sentences.embeddings(lambda feeds: outputs(session, feeds))
    return float((sentences.nearest(rows) == sentences.nearest(sentences.expected())).mean())


@functools.cache
def sounds(length, count, seed):
    """Spoken sentences of a fixed length."""
    rng, clips = np.random.default_rng(seed), []
    for k in range(count):
        voice = speech.spoken(SENTENCES[(seed + k) % len(SENTENCES)], speech.VOICES[k % 4], 150)
        sound = np.resize(voice, length) + rng.normal(0, (0.001, 0.01, 0.05)[k % 3], length)
        clips.append(sound.astype(np.float32)[None])
    return clips


def same_quality(model):
    @functools.cache
    def expected():
        import anybit
        session = anybit.Session(model)
        return [outputs(session, sound)[0] for sound in sounds(144160, 8, 3)]

    def measure(session):
        errors = [np.abs(outputs(session, sound)[0] - wanted).max() for sound, wanted in zip(sounds(144160, 8, 3), expected())]
        return float(np.mean([error < 0.2 for error in errors]))
    return measure


@functools.cache
def melodies(seed):
    """Tones with three overtones that glide a little, and their pitch."""
    rng, all_tones = np.random.default_rng(seed), []
    for _ in range(12):
        pitch = float(np.exp(rng.uniform(np.log(90), np.log(700))))
        phase = 2 * np.pi * pitch * np.arange(16000) / 16000
        tone = sum(np.sin(k * phase) / k for k in range(1, 5)) * 0.2 + rng.normal(0, 0.003, 16000)
        all_tones.append((tone.astype(np.float32)[None], pitch))
    return all_tones


def tone_feeds(tone):
    return {"audio": tone, "fmin": np.float32(50), "fmax": np.float32(2000)}


def right_pitch(session):
    right = []
    for tone, pitch in melodies(4):
        said = np.ravel(outputs(session, tone_feeds(tone))[0])[2:-2]
        right.append(np.mean(np.abs(1200 * np.log2(np.maximum(said, 1) / pitch)) < 50))
    return float(np.mean(right))


@functools.cache
def files():
    """The first and last 1,024 bytes of files of this repository."""
    found = []
    for pattern in ("src/*/*.cpp", "docs/*.md", "tests/e2e/*.py", "web/src/*.ts*", "scripts/*", "*.json", "web/src/*.css"):
        for path in sorted(ROOT.glob(pattern))[:10]:
            content = path.read_bytes().strip() if path.is_file() else b""
            if len(content) > 2048:
                found.append(np.frombuffer(content[:1024] + content[-1024:], np.uint8).astype(np.int32)[None])
    return [found[k] for k in np.random.default_rng(3).permutation(len(found))]


def same_type(model):
    @functools.cache
    def expected():
        import anybit
        session = anybit.Session(model)
        return [outputs(session, one)[0].argmax() for one in files()]
    return lambda session: float(np.mean([outputs(session, one)[0].argmax() == wanted for one, wanted in zip(files(), expected())]))


def tasks():
    cifar = functools.cache(lambda: images.colour_images("test"))
    digits = functools.cache(lambda: images.digits("t10k"))
    vad, mos, magika = DATA / "silero_vad_v6_flat.onnx", real("sig_bak_ovr.onnx"), real("magika/models/standard_v3_3/model.onnx")
    det = MODELS / "ch_PP-OCRv4_det_infer.onnx"
    yield Task("digits", "classifier", "top-1", ROOT / "examples/digits/digits.onnx",
               lambda: [one[None] for one in images.digits("train")[0][:64]], top_1(digits, 2000), "int8", "ternary")
    yield Task("CIFAR-10", "classifier", "top-1", ROOT / "examples/cifar/cifar.onnx",
               lambda: [one[None] for one in images.colour_images("train")[0][:64]], top_1(cifar, 1000), "int8", "w2")
    yield Task("PP-OCRv4 words", "text recogniser", "words read", MODELS / "ch_PP-OCRv4_rec_infer.onnx",
               lambda: [one["x"] for one in words.samples()[:16]], read_words, "int8", "w2")
    yield Task("PP-OCRv4 detector", "segmenter", "text area, IoU", det, pages, text_area(det), "int8", "ternary-weights")
    yield Task("PP-OCR direction", "classifier", "top-1", MODELS / "ch_ppocr_mobile_v2.0_cls_infer.onnx",
               lambda: [one[None] for one in directions(3)[0][:32]], right_direction, "int8", "ternary")
    yield detector("YOLO11n", "models/yolo11n.onnx", 320, lambda rows: yolo(rows, 80), "int16x8", "w2")
    yield detector("YOLO11n-seg", "yolo11n-seg.onnx", 640, lambda rows: yolo(rows, 80), "int16x8", "w2")
    yield detector("YOLO11n-pose", "yolo11n-pose.onnx", 640, lambda rows: yolo(rows, 1), "int16x8", "w2")
    yield detector("YOLOv5n-face", "yolov5face-n-0.5-640x640.onnx", 640, yolo_face, "w8", "ternary-weights")
    yield Task("ESPCN", "super-resolution", "PSNR, dB", real("nn_resize/float_model.onnx"), lambda: [small for _, small in halved()[:16]],
               restored, "int8", "ternary-weights")
    yield Task("Silero VAD", "speech detector", "frames", vad,
               lambda: speech.samples(vad, speech.at_once)[:8], speech_frames, "int8", "ternary-weights")
    yield Task("MiniLM", "sentence embedder", "same neighbour", sentences.MODEL, sentences.samples, same_neighbours, "dynamic-int8", "w2")
    yield Task("DNSMOS", "speech quality", "within 0.2 points", mos, lambda: sounds(144160, 8, 11), same_quality(mos), "w8", "ternary-weights")
    yield Task("swift-f0", "pitch", "frames within 50 cents", real("swift_f0/model.onnx"),
               lambda: [tone_feeds(tone) for tone, _ in melodies(2)], right_pitch, "w8", "ternary-weights")
    yield Task("Magika", "file types", "same type", magika, files, same_type(magika), "w8", "ternary-weights")
