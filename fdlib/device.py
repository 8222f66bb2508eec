"""How Triton kernels run here: compiled for a GPU, or by Triton's interpreter on the CPU.

Triton reads ``TRITON_INTERPRET`` once, when it is imported, and a process cannot change its mind later. So
``import fdlib`` decides early and cheaply (no torch), and ``require_triton`` looks again, with torch, just before
the first kernel module imports Triton.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = [
    "choose_mode",
    "forbidden_by",
    "interpreting",
    "kernel_device",
    "launching_on",
    "require_somewhere_to_run",
    "require_triton",
]

_VARIABLE = "TRITON_INTERPRET"
_TRUE = ("1", "true", "on")  # what Triton itself reads as true
_ONE_LAUNCH = threading.RLock()
_chosen_here = False  # True: choose_mode() set the variable, not the user


def choose_mode() -> str:
    """Decide how kernels run, and return ``'gpu'``, ``'interpreter'`` or ``'torch only'`` (no Triton here).

    A ``TRITON_INTERPRET`` that is already set wins. Otherwise it is set to 1 when no NVIDIA GPU is in sight.
    Imports neither torch nor Triton; calling it again changes nothing.

    >>> choose_mode() in ("gpu", "interpreter", "torch only")
    True
    """
    global _chosen_here
    if _VARIABLE not in os.environ and not _sees_gpu():
        os.environ[_VARIABLE] = "1"
        _chosen_here = True
    if not _has_triton():
        return "torch only"
    return "interpreter" if interpreting() else "gpu"


def interpreting() -> bool:
    """Return True when kernels run under Triton's interpreter."""
    return os.environ.get(_VARIABLE, "").lower() in _TRUE


def require_triton() -> None:
    """Make sure that Triton can be imported, in the right mode; call it before ``import triton``.

    Raises ``RuntimeError``, saying what to do: Triton does not exist on this platform, or it was imported in the
    other mode before fdlib could choose.
    """
    if not _has_triton():
        raise RuntimeError(_no_triton())
    _refine_with_torch()
    _refuse_wrong_mode()


def forbidden_by() -> str | None:
    """Return the value of ``TRITON_INTERPRET`` that rules the interpreter out (``'0'``, ``''``, ``'2'``), else None."""
    return None if interpreting() else os.environ.get(_VARIABLE)


def require_somewhere_to_run() -> None:
    """Raise ``RuntimeError`` when ``TRITON_INTERPRET`` rules the interpreter out and torch sees no GPU.

    Not part of ``require_triton``: compiling for a GPU that is not here takes neither.
    """
    import torch

    value = forbidden_by()
    if value is not None and _has_triton() and not torch.cuda.is_available():
        raise RuntimeError(
            f"{_VARIABLE} is set to {value!r}, which rules Triton's interpreter out, and torch sees no GPU here: "
            f"unset {_VARIABLE}, then start again."
        )


def kernel_device() -> str:
    """Where tensors have to live for the kernels of this process: ``'cuda'``, or ``'cpu'`` under the interpreter.

    Raises ``RuntimeError`` when they can run on neither (``require_somewhere_to_run``).
    """
    import torch

    require_somewhere_to_run()
    return "cuda" if torch.cuda.is_available() and not interpreting() else "cpu"


def launching_on(x: torch.Tensor) -> AbstractContextManager[object]:
    """A context to launch kernels in: on the GPU that holds ``x``, since Triton takes the current one.

    Under the interpreter one thread at a time: it keeps the program's place in global variables.
    """
    import torch

    if interpreting():
        return _ONE_LAUNCH
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def _sees_gpu() -> bool:
    """Look for an NVIDIA driver's devices without starting it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    if sys.platform == "win32":
        windows = os.environ.get("SYSTEMROOT", r"C:\Windows")
        return os.path.exists(os.path.join(windows, "System32", "nvcuda.dll"))
    if os.path.exists("/dev/dxg") and os.path.exists("/usr/lib/wsl/lib/libcuda.so.1"):
        return True  # Windows' Linux subsystem
    try:
        names = os.listdir("/dev")
    except OSError:
        return False
    return any(name.startswith("nvidia") and name[len("nvidia") :].isdigit() for name in names)


def _has_triton() -> bool:
    if "triton" in sys.modules:
        return sys.modules["triton"] is not None
    return importlib.util.find_spec("triton") is not None


def _refine_with_torch() -> None:
    """Correct the early look: a CPU build of torch cannot use a GPU; a GPU can do without its /dev entry."""
    global _chosen_here
    import torch

    usable = torch.cuda.is_available()
    if _VARIABLE not in os.environ and not usable:
        os.environ[_VARIABLE] = "1"
        _chosen_here = True
    elif _chosen_here and usable and _imported_mode() != "interpreter":
        del os.environ[_VARIABLE]
        _chosen_here = False


def _imported_mode() -> str | None:
    """The mode that Triton was imported in: its own ``tl.cdiv`` was decorated there and then."""
    language = sys.modules.get("triton.language")
    cdiv = getattr(language, "cdiv", None)
    if cdiv is None:
        return None
    return "interpreter" if type(cdiv).__name__ == "InterpretedFunction" else "gpu"


def _refuse_wrong_mode() -> None:
    imported = _imported_mode()
    wanted = "interpreter" if interpreting() else "gpu"
    if imported is None or imported == wanted:
        return
    if wanted == "interpreter":
        raise RuntimeError(
            "triton was imported before fdlib, for a GPU, and this process has none to use. "
            "Restart the kernel and `import fdlib` before triton."
        )
    raise RuntimeError(
        "triton was imported for its interpreter and TRITON_INTERPRET has changed since. "
        "Restart the kernel and leave the variable alone."
    )


def _no_triton() -> str:
    if sys.platform == "darwin":
        where = "triton has no package for macOS"
        what = "open the Triton stages on Colab, or on a Linux machine (no GPU needed)"
    elif sys.platform == "win32":
        where = "triton has no package for Windows"
        what = (
            "use Colab or Windows' Linux subsystem (no GPU needed), or `pip install triton-windows` "
            "if you have an NVIDIA GPU"
        )
    else:
        where = "triton is not installed"
        what = "run `make lab`, or `pip install -e . -c constraints.txt`, in the repository"
    return f"{where}: {what}. naive_attention, online_softmax_attention and merge_states need torch only."
