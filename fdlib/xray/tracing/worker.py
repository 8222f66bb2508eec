"""The child process of `trace`: unpack a call, trace it under the interpreter, write the answer."""

from __future__ import annotations

import pickle
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["main"]


def main(folder: Path) -> None:
    """Read `request.pickle` in the folder, write `answer.pickle`."""
    try:
        answer: dict[str, Any] = {"trace": _trace(folder)}
    except BaseException as error:  # KeyboardInterrupt and SystemExit too: fn may raise them
        answer = {
            "error": _pickled(error),
            "text": _text(error),
            "traceback": "".join(traceback.format_exception(error)),
        }
    (folder / "answer.pickle").write_bytes(pickle.dumps(answer))


def _trace(folder: Path) -> Any:
    from fdlib.device import require_triton

    require_triton()
    from fdlib.xray.tracing.here import trace_here
    from fdlib.xray.tracing.parcel import unpack
    from fdlib.xray.tracing.settings import with_settings

    request = pickle.loads((folder / "request.pickle").read_bytes())
    storages = [_storage(folder / f"{number}.bin") for number in range(request["storages"])]
    with _cpu_instead_of_cuda(), with_settings(request["settings"]):
        fn, args, kw, options = unpack(request["parcel"], storages, request["sources"])
        return trace_here(fn, args, kw, options)


def _storage(path: Path) -> torch.UntypedStorage:
    """torch's own memory: it begins at a sector, as the original does."""
    import torch

    held = torch.empty(path.stat().st_size, dtype=torch.uint8)
    if held.numel():
        with path.open("rb") as file:
            file.readinto(held.numpy())
    return held.untyped_storage()


def _cpu_instead_of_cuda() -> Any:
    """A mode in which device="cuda", .to("cuda") and .cuda() mean the CPU, where the tensors are."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.cuda:
                return args[0]
            kwargs = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
            return func(*map(_on_cpu, args), **kwargs)

    return Mode()


def _on_cpu(value: Any) -> Any:
    import torch

    cuda = isinstance(value, torch.device) and value.type == "cuda"
    named = isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value)
    return "cpu" if cuda or named else value


def _text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, whose text cannot be made"


def _pickled(error: BaseException) -> bytes:
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:
        return b""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
