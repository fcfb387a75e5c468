"""Transforms of sounds: values in closed form, arguments, and shapes."""

import numpy as np
import pytest

from msjax import dataset as ds
from msjax.dataset import audio

TIME = np.arange(1600) / 8000
TONE = (0.5 * np.sin(2 * np.pi * 1000 * TIME)).astype(np.float32)


def test_a_tone_stands_where_its_frequency_is():
    powers = audio.Spectrogram(n_fft=80)(TONE)
    assert powers.shape == (41, 41) and powers.dtype == np.float32
    assert (powers[:, 1:-1].argmax(0) == 10).all()  # 1000 Hz of 4000 Hz
    # Half of the window's sum, times the amplitude.
    np.testing.assert_allclose(powers[10, 1:-1], (0.5 * 40 / 2) ** 2, rtol=1e-4)
    parts = audio.Spectrogram(n_fft=80, power=0.0)(TONE)
    assert parts.shape == (41, 41, 2)
    np.testing.assert_allclose(audio.ComplexNorm(2.0)(parts), powers, rtol=1e-4, atol=1e-6)
    magnitude, phase = audio.Magphase(1.0)(parts)
    np.testing.assert_allclose(magnitude**2, powers, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(phase, audio.Angle()(parts))
    np.testing.assert_allclose(audio.SpectralCentroid(8000, 80)(TONE)[0, 1:-1], 1000, atol=1)


def test_mel_scales():
    bank = audio.melscale_fbanks(41, 0.0, 4000.0, 8, 8000)
    assert bank.shape == (41, 8) and bank.min() == 0 and 0.6 < bank.max() <= 1
    spectrum = np.abs(np.random.default_rng(0).normal(size=(2, 41, 5))).astype(np.float32)
    np.testing.assert_allclose(audio.MelScale(8, 8000, n_stft=41)(spectrum), np.einsum("cft,fm->cmt", spectrum, bank), rtol=1e-5)
    cosines = audio.create_dct(8, 8, audio.NormMode.ORTHO)
    np.testing.assert_allclose(cosines.T @ cosines, np.eye(8), atol=1e-6)
    assert audio.MFCC(8000, 5, melkwargs={"n_fft": 80, "n_mels": 8})(TONE).shape == (5, 41)


def test_decibels_there_and_back():
    values = np.array([[1e-12, 0.1, 1.0, 100.0]], np.float32)
    decibels = audio.AmplitudeToDB(top_db=40.0)(values)
    np.testing.assert_allclose(decibels, [[-20, -10, 0, 20]], atol=1e-5)
    np.testing.assert_allclose(audio.DBToAmplitude(1.0, 1.0)(decibels), [[0.01, 0.1, 1.0, 100.0]], rtol=1e-5)


def amplitude(sound):
    return np.abs(sound[800:]).max()


@pytest.mark.parametrize(
    "made, factor",
    [
        (audio.LowpassBiquad(8000, 1000.0), 0.707), (audio.HighpassBiquad(8000, 1000.0), 0.707), (audio.AllpassBiquad(8000, 300.0), 1),
        (audio.BandpassBiquad(8000, 1000.0), 1), (audio.BandrejectBiquad(8000, 1000.0), 0), (audio.EqualizerBiquad(8000, 1000.0, 6.0206), 2),
        (audio.TrebleBiquad(8000, -6.0206, 50.0), 0.5), (audio.BassBiquad(8000, -6.0206, 3500.0), 0.5), (audio.Gain(6.0206), 2),
        (audio.Vol(-6.0206, audio.GainType.DB), 0.5), (audio.LFilter([1.0, 0.0], [0.5, 0.0]), 0.5), (audio.Biquad(1, 0, 0, 2, 0, 0), 0.5),
    ],
)  # fmt: skip
def test_how_loud_a_tone_is_after(made, factor):
    # 1000 Hz are 8 samples, of which the largest lies within a sixteenth of a period from the peak.
    assert amplitude(made(TONE)) == pytest.approx(0.5 * factor, abs=0.04)


def test_a_filter_cuts_what_leaves_its_range():
    assert audio.Biquad(4.0, 0.0, 0.0, 1.0, 0.0, 0.0)(TONE).max() == 1.0


def test_other_rates():
    half = audio.Resample(8000, 4000)(np.sin(2 * np.pi * 200 * TIME).astype(np.float32))
    np.testing.assert_allclose(half[100:-100], np.sin(2 * np.pi * 200 * TIME[::2])[100:-100], atol=2e-2)
    assert audio.Resample(3000, 8000, audio.ResampleMethod.KAISER_WINDOW)(TONE[:30]).shape == (80,)


def test_differences_and_means_over_time():
    line = np.arange(10, dtype=np.float32)[None]
    assert (audio.ComputeDeltas(5)(line)[0, 2:-2] == 1).all()
    np.testing.assert_allclose(audio.SlidingWindowCmn(4, 2, center=True)(line.reshape(1, 10, 1))[0, 2:-2, 0], 0.5)


def test_masks_in_a_pipeline():
    spectra = np.ones((3, 4, 6), np.float32)
    ds.config.set_seed(5)
    rows = ds.NumpySlicesDataset(spectra, ["x"], shuffle=False).map(audio.TimeMasking(True, 4, mask_value=2.0), "x")
    masked = [row["x"] for row in rows.create_dict_iterator(output_numpy=True, num_epochs=1)]
    assert all(((r == 1) | (r == 2)).all() and (r == r[:1]).all() and (r == 2).sum() < 16 for r in masked)
    assert (audio.FrequencyMasking(False, 2, 1, 7.0)(spectra[0])[1:3] == 7).all()


def test_what_they_refuse():
    with pytest.raises(ValueError, match="For 'Spectrogram', 'win_length' should not be above 'n_fft', 16, but got 20"):
        audio.Spectrogram(16, 20)
    with pytest.raises(RuntimeError, match=r"MelScale: .* of shape \(\.\.\., frequency, time\), but is float32 of shape \(3,\)"):
        audio.MelScale()(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="For 'RiaaBiquad', 'sample_rate' should be one of"):
        audio.RiaaBiquad(8000)
    with pytest.raises(NotImplementedError, match="InverseMelScale"):
        getattr(audio, "InverseMelScale")(9)  # noqa: B009


RISING = np.sin(np.arange(300) * 0.3) * np.linspace(0, 1, 300)
PARTS = np.random.default_rng(0).normal(size=(33, 7, 2))


@pytest.mark.parametrize(
    "made, given, at, expected, total",
    [
        (audio.PitchShift(8000, 4, n_fft=64), RISING, 100, [-0.19492, -0.1351, -0.05519, 0.03345], 62.7805),
        (audio.PitchShift(8000, -3, n_fft=64, win_length=48), RISING, 100, [0.03114, 0.11419, 0.19159, 0.25825], 94.7619),
        (audio.BandBiquad(8000, 1000.0), RISING, 100, [-0.29209, -0.27157, -0.22609, -0.15927], 84.3245),
        (audio.BandBiquad(8000, 700.0, 0.5, True), RISING, 100, [-0.51809, -0.49753, -0.43156, -0.32526], 139.1968),
        (audio.InverseSpectrogram(n_fft=64), PARTS, 100, [-0.08262, 0.07527, 0.1663, 0.08729], 35.4319),
        (
            audio.InverseSpectrogram(50, n_fft=64, pad=3, normalized=True),
            PARTS,
            10,
            [-1.93983, 0.26775, 1.01229, 1.67617],
            37.5273,
        ),
        (audio.DeemphBiquad(44100), RISING, 100, [-0.276191, -0.28337, -0.265086, -0.222485], 80.6551),
        (audio.DeemphBiquad(48000), RISING, 100, [-0.26757, -0.27645, -0.26053, -0.220752], 78.51862),
        (audio.Filtfilt([0.5, 0.2, 0.1], [0.3, 0.2, 0.1]), RISING, 100, [-0.184908, -0.16978, -0.139, -0.095045], 53.56739),
        (
            audio.Filtfilt([0.5, 0.2, 0.1], [0.9, 0.8, 0.1], False),
            RISING,
            100,
            [-1.694595, -1.556566, -1.275042, -0.872676],
            491.31792,
        ),
        (audio.Overdrive(), RISING, 100, [-0.676091, -0.660037, -0.630008, -0.588217], 181.78394),
        (audio.Overdrive(35.0, 5.0), RISING, 100, [-0.674636, -0.658589, -0.628568, -0.586784], 194.66843),
        (audio.Phaser(8000), RISING, 100, [-0.156411, -0.152384, -0.134501, -0.104105], 44.83136),
        (audio.Phaser(8000, 0.5, 0.8, 2.0, 0.3, 1.0, False), RISING, 100, [-0.185284, -0.176963, -0.152477, -0.113722], 50.16602),
    ],
)
def test_numbers_that_mindspore_gives(made, given, at, expected, total):
    found = made(given)
    np.testing.assert_allclose(found[at : at + 4], expected, atol=1e-5)
    assert np.abs(found).sum() == pytest.approx(total, abs=1e-3)


SPECTRUM = np.abs(np.random.default_rng(0).normal(size=(33, 7)))


def flanger(modulation, interpolation):
    return audio.Flanger(8000, 2.0, 3.0, 20.0, 71.0, 2.0, 25.0, modulation, interpolation)


@pytest.mark.parametrize(
    "made, given, at, expected, total",
    [
        (
            flanger(audio.Modulation.SINUSOIDAL, audio.Interpolation.LINEAR),
            np.stack([RISING, RISING[::-1]]),
            100,
            [-0.176041, -0.132017, -0.075065, -0.010102],
            102.32599,
        ),
        (
            flanger(audio.Modulation.TRIANGULAR, audio.Interpolation.QUADRATIC),
            np.stack([RISING, RISING[::-1]]),
            100,
            [-0.209599, -0.163781, -0.102056, -0.029654],
            118.51808,
        ),
        (audio.Flanger(8000), RISING[None], 100, [-0.330438, -0.303516, -0.248617, -0.17016], 95.81829),
        (
            audio.LFCC(8000, 20, 10, speckwargs={"n_fft": 64}),
            RISING.astype(np.float32),
            10,
            [55.38887, 64.64406, 70.21422, 74.15163],
            3913.906,
        ),
        (
            audio.LFCC(8000, 20, 10, log_lf=True, speckwargs={"n_fft": 64}),
            RISING.astype(np.float32),
            10,
            [14.652737, 16.804794, 18.133556, 19.05127],
            936.1727,
        ),
        (audio.GriffinLim(64, rand_init=False), SPECTRUM, 20, [-0.375878, -0.023168, -0.207543, 0.254282], 27.26951),
        (
            audio.GriffinLim(64, n_iter=5, hop_length=20, rand_init=False),
            SPECTRUM,
            20,
            [0.149214, 0.052308, -0.200013, -0.018802],
            16.5756,
        ),
        (audio.DetectPitchFrequency(8000), np.sin(np.arange(4000) * 0.3), 0, [380.9524] * 4, 13333.3333),
        (audio.DetectPitchFrequency(8000, 0.02, 5, 100, 2000), np.sin(np.arange(4000) * 0.3), 5, [380.9524] * 4, 8761.9033),
        (audio.MaskAlongAxis(1, 2, 5.0, 1), SPECTRUM, 0, [0.12573, 0.132105, 0.640423, 0.1049], 241.53313),
        (audio.MaskAlongAxis(1, 2, 5.0, 2), SPECTRUM[None], 0, [0.12573, 5.0, 5.0, 0.1049], 460.84161),
    ],
)
def test_numbers_of_channels_and_spectra_that_mindspore_gives(made, given, at, expected, total):
    found = made(given)
    np.testing.assert_allclose(found.ravel()[at : at + 4], expected, rtol=1e-5, atol=1e-5)
    assert np.abs(found).sum() == pytest.approx(total, rel=1e-5)


def test_a_random_mask_and_random_phases():
    masked = audio.MaskAlongAxisIID(3, 5.0, 2)(SPECTRUM[None])
    hidden = (masked == 5).all((0, 1))
    assert hidden.sum() <= 3 and (masked[..., ~hidden] == SPECTRUM[None][..., ~hidden]).all()
    sound = audio.GriffinLim(64, power=1.0, length=100)(SPECTRUM)
    assert sound.shape == (100,) and np.isfinite(sound).all()
    with pytest.raises(ValueError, match=r"Input axis is not within the required interval of \[1, 2\]"):
        audio.MaskAlongAxis(0, 1, 0.0, 3)
    with pytest.raises(ValueError, match=r"num_parallel_workers exceeds the boundary between 1 and"):
        ds.NumpySlicesDataset([1], num_parallel_workers=2**20)


def test_stretching_keeps_frequencies():
    parts = audio.Spectrogram(n_fft=80, power=0.0)(TONE)
    slower = audio.TimeStretch(40, 41, 0.5)(parts)
    assert slower.shape == (41, 82, 2) and (audio.ComplexNorm()(slower)[:, 2:-4].argmax(0) == 10).all()
    np.testing.assert_array_equal(audio.PhaseVocoder(0.5, np.linspace(0, np.pi * 40, 41)[:, None])(parts), slower)
    with pytest.raises(RuntimeError, match=r"'phase_advance' should be of shape \(41, 1\)"):
        audio.PhaseVocoder(0.5, np.zeros((3, 1)))(parts)
    with pytest.raises(RuntimeError, match="should have 40 frequencies, but has 41"):
        audio.TimeStretch(40, 40)(parts)


@pytest.mark.parametrize(
    "transform", [audio.LFilter([1.0, 0.0], [0.5, 0.5]), audio.Biquad(0.5, 0.5, 0.0, 1.0, 0.0, 0.0), audio.RiaaBiquad(44100)]
)
def test_filters_of_half_precision_give_half_precision(transform):
    assert transform(np.ones(4, np.float16)).dtype == np.float16 and audio.Gain()(np.ones(4, np.float16)).dtype == np.float32
