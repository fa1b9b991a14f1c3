"""The text recogniser PP-OCRv4 on words rendered with real fonts: the label is the text."""
import pathlib
import re

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .task import CALIBRATION_SENTENCES, DATA, MODELS, SENTENCES, Measure, Scores, Task

FONTS = [pathlib.Path("/usr/share/fonts/truetype") / name for name in (
    "dejavu/DejaVuSans.ttf", "dejavu/DejaVuSerif.ttf", "dejavu/DejaVuSansMono.ttf",
    "liberation2/LiberationSans-Regular.ttf", "liberation2/LiberationSerif-Italic.ttf",
    "liberation2/LiberationSans-Bold.ttf", "freefont/FreeSerif.ttf", "freefont/FreeSans.ttf",
    "open-sans/OpenSans-Regular.ttf", "lato/Lato-Regular.ttf", "lato/Lato-Light.ttf")]
HEIGHT, WIDTH = 48, 320
TESTED = 500
CALIBRATING = 32
BATCH = 10


def vocabulary(sentences, rng):
    """Distinct words of four letters or more in several spellings, and numbers, in random order."""
    words = sorted({word.lower() for line in sentences for word in re.findall(r"[A-Za-z]{4,}", line)})
    spelled = [(str.lower, str.title, str.upper)[k % 3](word) for k, word in enumerate(words)]
    numbers = [f"{n:,}" if n % 2 else str(n) for n in rng.integers(100, 99999, len(words) // 8)]
    return [str(word) for word in rng.permutation(spelled + numbers)]


def render(word, rng):
    """A printed line: dark on light in a random font, size and position, slightly blurred by scaling, with some noise."""
    font = ImageFont.truetype(str(FONTS[rng.integers(len(FONTS))]), int(rng.integers(22, 44)))
    left, top, right, bottom = font.getbbox(word)
    margin = [int(m) for m in rng.integers(2, 10, 4)]
    size = right - left + margin[0] + margin[1], bottom - top + margin[2] + margin[3]
    paper, ink = int(rng.integers(180, 256)), int(rng.integers(0, 90))
    image = Image.new("L", size, paper)
    ImageDraw.Draw(image).text((margin[0] - left, margin[2] - top), word, ink, font)
    image = image.resize((min(WIDTH, max(1, round(HEIGHT * size[0] / size[1]))), HEIGHT), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.float32) + rng.normal(0, 6, (HEIGHT, image.width)).astype(np.float32)
    line = np.zeros((3, HEIGHT, WIDTH), np.float32)  # the area right of the word is 0, as in training
    line[:, :, :image.width] = np.clip(pixels, 0, 255) / 127.5 - 1
    return line


def lines(sentences, count, seed):
    """Words and their images; a repeated word is rendered again."""
    rng = np.random.default_rng(seed)
    words = vocabulary(sentences, rng)
    words = [words[k % len(words)] for k in range(count)]
    return words, np.stack([render(word, rng) for word in words])


def decoded(scores, characters):
    """CTC: the best character at each step, repetitions once, then without the blank (0)."""
    best = scores.argmax(-1)
    return ["".join(characters[c] for c, before in zip(row, np.concatenate([[0], row])) if c and c != before)
            for row in best]


def scores(run, count=TESTED):
    """Two percentages: exact matches, and matches without spaces. PaddleOCR's own measure (RecMetric) ignores spaces by default;
    with these words, nearly all mistakes are a space before or after the word."""
    characters = ["", *(DATA / "ppocr_keys_v1.txt").read_text().split("\n")[:6623], " "]
    words, images = lines(SENTENCES[CALIBRATION_SENTENCES:], count, 2)
    read = [text for at in range(0, len(words), BATCH)
            for text in decoded(run({"x": images[at:at + BATCH]})[0], characters)]
    right = [100 * np.array([text == word for text, word in zip(texts, words)])
             for texts in (read, [text.replace(" ", "") for text in read])]
    return Scores([float(one.mean()) for one in right], right[0])


def samples():
    return [{"x": image[None]} for image in lines(SENTENCES[:CALIBRATION_SENTENCES], CALIBRATING, 1)[1]]


def tasks():
    yield Task("words", MODELS / "ch_PP-OCRv4_rec_infer.onnx", ("int8",),
               (Measure("exact match", "%", 1, 1.5), Measure("match without spaces", "%", 1, 1.0)), samples, scores)
