"""Transforms of windows of a signal, one after the other, and the signal back from them."""

from __future__ import annotations

from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import leading
from gradwire_engine.errors import dtype_mismatch, invalid_argument
from gradwire_engine.families import composite, internal
from gradwire_engine.ops.arithmetic import div, is_complex, mul
from gradwire_engine.ops.axes import squeeze, transpose, unsqueeze
from gradwire_engine.ops.complex import view_as_real
from gradwire_engine.ops.creation import ones
from gradwire_engine.ops.expand import expand
from gradwire_engine.ops.fft import fft, ifft, irfft, rfft
from gradwire_engine.ops.pad import constant_pad_nd, pad
from gradwire_engine.ops.views import narrow
from gradwire_engine.ops.windows import folded, unfold
from gradwire_engine.rule import vjp
from gradwire_engine.spec import FLOAT, real_of

SMALL = 1e-11
"""Where windows together weigh less than this, the signal can't be told any more."""


def _refuse(asked: str, detail: str, hint: str) -> Exception:
    return invalid_argument(f"{asked}: {detail}", hint)


def _refuse_dtype(asked: str, input: Any, wanted: str) -> Exception:
    return dtype_mismatch(f"{asked}: {input.dtype.name} came in", f"it takes {wanted}; convert")


def _sizes(
    asked: str, n_fft: int, hop: int | None, length: int | None, window: Any
) -> tuple[int, int]:
    """The step from window to window and the window's length, as given or as usual."""
    hop = n_fft // 4 if hop is None else hop
    length = n_fft if length is None else length
    if not 0 < length <= n_fft or hop < 1:
        raise _refuse(
            asked,
            f"n_fft is {n_fft}, win_length {length}, hop_length {hop}",
            "0 < win_length <= n_fft and 0 < hop_length must hold",
        )
    if window is not None and tuple(window.shape) != (length,):
        raise _refuse(
            asked, f"window is {list(window.shape)}, win_length {length}", "it is a vector of that"
        )
    return hop, length


def _centred(window: Any, n_fft: int) -> Any:
    """The window with zeros on both sides, up to the size of a transform."""
    before = (n_fft - window.shape[0]) // 2
    after = n_fft - window.shape[0] - before
    return constant_pad_nd(window, (before, after)) if before or after else window


def _one_sided(asked: str, onesided: bool | None, *, complex_: bool) -> bool:
    if onesided and complex_:
        raise _refuse(
            asked,
            "onesided is True, but input or window is complex",
            "only frequencies of real numbers have a half that determines the other",
        )
    return not complex_ if onesided is None else onesided


def _padded(
    rows: Any, n_fft: int, length: int, center: bool, mode: str, aligned: bool | None
) -> Any:
    """The signal with what stands before and after it, so that windows find all they reach."""
    if center:
        if aligned is not None:
            raise _refuse("stft", "align_to_window goes with center=False only", "leave it out")
        return squeeze(pad(unsqueeze(rows, 0), (n_fft // 2,) * 2, mode), 0)
    before = (n_fft - length) // 2
    return constant_pad_nd(rows, (before, n_fft - length - before)) if aligned else rows


@composite()
def stft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    """The Fourier transforms of a signal's windows, (…, frequency, time)."""
    if input.dtype.category < FLOAT or input.dtype.half:
        raise _refuse_dtype("stft", input, "a floating or complex one")
    if input.ndim not in (1, 2):
        raise _refuse("stft", f"input is {list(input.shape)}", "it is (time,) or (batch, time)")
    complex_ = is_complex(input) or (window is not None and is_complex(window))
    if return_complex is None and not complex_:
        raise _refuse("stft", "return_complex is missing", "give return_complex=True")
    rows = unsqueeze(input, 0) if input.ndim == 1 else input
    hop, length = _sizes("stft", n_fft, hop_length, win_length, window)
    rows = _padded(rows, n_fft, length, center, pad_mode, align_to_window)
    if not 0 < n_fft <= rows.shape[1]:
        raise _refuse(
            "stft", f"n_fft is {n_fft}, the signal has {rows.shape[1]}", "take shorter windows"
        )
    half = _one_sided("stft", onesided, complex_=complex_)
    frames = unfold(rows, 1, n_fft, hop)
    if window is None and length < n_fft:
        window = ones((length,), dtype=real_of(input.dtype), device=input.device)
    if window is not None:
        frames = mul(frames, _centred(window, n_fft))
    norm = "ortho" if normalized else "backward"
    found = (rfft if half else fft)(frames, None, -1, norm)
    found = transpose(found if input.ndim == 2 else squeeze(found, 0), -2, -1)
    return view_as_real(found) if return_complex is False else found


@internal(vjp(input=lambda g: g), fallible=True, batch=leading)
def weighty(xp: Any, input: Array) -> Array:
    """What windows weigh together, which must not be nothing anywhere."""
    if not input.size or float(xp.abs(input).min()) < SMALL:
        raise _refuse(
            "istft",
            "the windows overlap to nothing somewhere, or everywhere",
            "take a window without zeros, a smaller hop_length, or center=True",
        )
    return input


def _need_frames(input: Any, n_fft: int, onesided: bool) -> None:
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if not is_complex(input):
        raise _refuse_dtype("istft", input, "complex numbers, as stft gives them")
    if input.ndim not in (2, 3) or 0 in input.shape:
        raise _refuse(
            "istft",
            f"input is {list(input.shape)}",
            "it is (frequency, time) or (batch, frequency, time), and not empty",
        )
    if n_fft < 1 or input.shape[-2] != wanted:
        raise _refuse(
            "istft",
            f"n_fft is {n_fft}, input has {input.shape[-2]} frequencies",
            f"there must be {wanted}: n_fft // 2 + 1 of one side, n_fft of both",
        )


def _signals(frames: Any, n_fft: int, norm: str, onesided: bool, complex_: bool) -> Any:
    """What each window showed, (…, time, n_fft)."""
    rows = transpose(frames, -2, -1)
    if complex_:
        return ifft(rows, None, -1, norm)
    return irfft(rows if onesided else narrow(rows, -1, 0, n_fft // 2 + 1), n_fft, -1, norm)


@composite()
def istft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    """The signal whose stft this is, or the one that comes closest to it."""
    half = input.ndim > 1 and input.shape[-2] != n_fft if onesided is None else onesided
    _need_frames(input, n_fft, half)
    hop, win_length = _sizes("istft", n_fft, hop_length, win_length, window)
    if hop > win_length:
        raise _refuse("istft", f"hop_length is {hop}, win_length {win_length}", "step less far")
    _one_sided("istft", half, complex_=return_complex)
    if window is None:
        window = ones((win_length,), dtype=real_of(input.dtype), device=input.device)
    if is_complex(window) and not return_complex:
        raise _refuse_dtype("istft", window, "real windows, where return_complex is not True")
    window = _centred(window, n_fft)
    batch = unsqueeze(input, 0) if input.ndim == 2 else input
    norm = "ortho" if normalized else "backward"
    frames = mul(_signals(batch, n_fft, norm, half, return_complex), window)
    count, size = frames.shape[1], n_fft + hop * (frames.shape[1] - 1)
    found = folded(frames, (frames.shape[0], size), 1, n_fft, hop)
    weight = folded(expand(mul(window, window), (1, count, n_fft)), (1, size), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    stop = size - (n_fft // 2 if center else 0) if length is None else start + length
    kept = max(min(stop, size) - start, 0)
    found = div(narrow(found, 1, start, kept), weighty(narrow(weight, 1, start, kept)))
    if stop > size:
        found = constant_pad_nd(found, (0, stop - size))
    return squeeze(found, 0) if input.ndim == 2 else found
