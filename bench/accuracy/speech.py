"""The voice activity detector Silero VAD on synthesized speech with silence and noise, in two variants of the model."""
import functools
import io
import subprocess
import wave

import numpy as np

from .models import session
from .task import CALIBRATION_SENTENCES, DATA, MODELS, SENTENCES, Measure, Scores, Task

RATE = 16000
FRAME, CONTEXT = 512, 64  # samples; the model's input is a frame after the end of the previous frame
VOICES = ("en-gb", "en-us+f3", "en-gb+m3", "en-us+f4")
CLIPS = 24
CALIBRATING_CLIPS = 8
CALIBRATING = 160  # samples at most


def spoken(text, voice, speed):
    """Mono samples in -1..1 at RATE."""
    made = subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", text], check=True,
                          capture_output=True).stdout
    with wave.open(io.BytesIO(made)) as sound:
        rate = sound.getframerate()
        data = np.frombuffer(sound.readframes(-1), np.int16).astype(np.float64) / 32768
    spectrum = np.fft.rfft(data)
    length = int(len(data) * RATE / rate)
    return np.fft.irfft(spectrum[:length // 2 + 1], length) * length / len(data)


def clip(k):
    """(frames, is speech): one to two seconds of silence before and after a sentence; noise of some level is added to the clip."""
    rng = np.random.default_rng(k)
    voice = spoken(SENTENCES[k], VOICES[k % len(VOICES)], int(rng.integers(130, 200)))
    around = [np.zeros(RATE + int(rng.integers(RATE))) for _ in range(2)]
    sound = np.concatenate([around[0], voice, around[1]])
    sound += rng.normal(0, (0.0, 0.002, 0.01, 0.03)[k // 4 % 4], len(sound))
    count = len(sound) // FRAME
    middle = np.arange(count) * FRAME + FRAME // 2
    inside = (middle >= len(around[0])) & (middle < len(around[0]) + len(voice))
    return np.clip(sound[:count * FRAME], -1, 1).astype(np.float32).reshape(count, FRAME), inside


def with_context(frames):
    """Each frame, preceded by the end of the previous one."""
    return np.concatenate([np.concatenate([np.zeros((1, CONTEXT), np.float32), frames[:-1, -CONTEXT:]]), frames], 1)


def step_by_step(run, frames):
    """The speech probability of each frame, and the feeds; the state is passed from run to run."""
    state, probabilities, feeds = np.zeros((2, 1, 128), np.float32), [], []
    for frame in with_context(frames):
        feeds.append({"input": frame[None], "state": state, "sr": np.array(RATE, np.int64)})
        probability, state = run(feeds[-1])
        probabilities.append(float(np.ravel(probability)[0]))
    return np.array(probabilities), feeds


def at_once(run, frames):
    """The same for the model that processes all frames of a clip in one run."""
    start = np.zeros((1, 1, 128), np.float32)
    feeds = {"input": with_context(frames), "h": start, "c": start}
    return run(feeds)[0], [feeds]


@functools.cache
def clips():
    return [clip(CALIBRATION_SENTENCES + k) for k in range(CLIPS)]


@functools.cache
def expected(model, detect):
    """The probabilities of the float model for the clips."""
    return np.concatenate([detect(session(model), frames)[0] for frames, _ in clips()])


def samples(model, detect):
    """Feeds of clips that are not measured, with the states of the float model."""
    feeds = [feed for k in range(CALIBRATING_CLIPS) for feed in detect(session(model), clip(k)[0])[1]]
    return feeds[::-(-len(feeds) // CALIBRATING)]


def scores(run, model, detect):
    said = np.concatenate([detect(run, frames)[0] for frames, _ in clips()])
    inside = np.concatenate([inside for _, inside in clips()])
    right = 100 * ((said > 0.5) == inside)
    return Scores([float(np.abs(said - expected(model, detect)).mean()), float(right.mean())], right)


def tasks():
    measures = (Measure("error of probability", "", 4, 0.005, higher_is_better=False),
                Measure("frame accuracy", "%", 2, 0.7))
    for name, model, detect in (("speech", DATA / "silero_vad_v6_flat.onnx", at_once),
                                ("speech, branches", MODELS / "silero_vad_v5.onnx", step_by_step)):
        yield Task(name, model, ("int8", "dynamic-int8"), measures,
                   functools.partial(samples, model, detect), functools.partial(scores, model=model, detect=detect))
