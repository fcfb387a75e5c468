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
    with pytest.raises(NotImplementedError, match="GriffinLim"):
        audio.GriffinLim()


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
    ],
)
def test_numbers_that_mindspore_gives(made, given, at, expected, total):
    found = made(given)
    np.testing.assert_allclose(found[at : at + 4], expected, atol=1e-5)
    assert np.abs(found).sum() == pytest.approx(total, abs=1e-3)


def test_stretching_keeps_frequencies():
    parts = audio.Spectrogram(n_fft=80, power=0.0)(TONE)
    slower = audio.TimeStretch(40, 41, 0.5)(parts)
    assert slower.shape == (41, 82, 2) and (audio.ComplexNorm()(slower)[:, 2:-4].argmax(0) == 10).all()
    np.testing.assert_array_equal(audio.PhaseVocoder(0.5, np.linspace(0, np.pi * 40, 41)[:, None])(parts), slower)
    with pytest.raises(RuntimeError, match=r"'phase_advance' should be of shape \(41, 1\)"):
        audio.PhaseVocoder(0.5, np.zeros((3, 1)))(parts)
    with pytest.raises(RuntimeError, match="should have 40 frequencies, but has 41"):
        audio.TimeStretch(40, 40)(parts)
