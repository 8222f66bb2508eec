"""What this machine can do, and the one line that repairs it (``fdlib doctor``).

Importing is not enough: some pairs of versions import well and compute wrong numbers. So the doctor runs known
computations (``fdlib.selftest``) in a child process with a time limit and compares their numbers.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field

from fdlib.device import choose_mode, forbidden_by
from fdlib.versions import PYTHON_NEWEST, PYTHON_OLDEST, bad_pair, release

__all__ = ["Check", "Report", "examine", "machine_facts", "render"]

TIME_LIMIT_S = 120.0
SELFTEST = ("-m", "fdlib.selftest")  # run by this Python, in a process of its own
PACKAGES = ("torch", "triton", "numpy", "ipywidgets")
TIERS = {
    "torch only": "the torch stages run (naive, online softmax, merging, planning); the Triton stages "
    "need Colab or a Linux machine.",
    "interpreter": "everything runs, kernels by Triton's interpreter on the CPU; no real timings.",
    "GPU": "everything runs, kernels compiled for the GPU, with real timings.",
}
LABELS = {
    "masked_sum": "a masked sum in Triton",
    "flash_decode": "flash_decode against float64",
    "online_softmax_attention": "online softmax against float64",
}
INSTALL = "pip install -e '.[lab]' -c constraints.txt"


@dataclass(frozen=True)
class Check:
    """One known computation: its name, whether its numbers agree, and what was seen."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """What ``fdlib doctor`` found; ``repair`` is one line, or None when nothing is wrong."""

    facts: dict[str, str | None]
    tier: str
    can_do: str
    checks: tuple[Check, ...]
    usable: bool
    notes: tuple[str, ...] = field(default=())
    repair: str | None = None

    def to_json(self) -> str:
        """Return the report as indented JSON."""
        return json.dumps(asdict(self), indent=2)


def examine(time_limit_s: float = TIME_LIMIT_S) -> Report:
    """Look at versions and GPU, run the known computations, and say what is wrong.

    Never raises for a fault of the machine: it becomes ``usable=False`` and a ``repair``.
    """
    mode = choose_mode()
    findings, ending = _run_selftest(time_limit_s)
    torch_facts = findings.pop("torch", {})
    facts = machine_facts() | {"mode": mode}
    facts["gpu"] = _text(torch_facts.get("gpu")) or facts["gpu"]
    tier = _tier(mode, torch_facts)
    checks = tuple(_check(name, findings.get(name), ending) for name in _expected(mode))
    faults = _faults(facts, tier, torch_facts, checks)
    notes = _notes(facts, tier, torch_facts)
    advice = faults + notes
    return Report(
        facts=facts,
        tier=tier,
        can_do=TIERS[tier],
        checks=checks,
        usable=not faults,
        notes=tuple(text for text, _ in advice),
        repair=advice[0][1] if advice else None,
    )


def machine_facts() -> dict[str, str | None]:
    """Return versions, platform, GPU and driver without importing any of the packages; None where there is none."""
    facts: dict[str, str | None] = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in PACKAGES:
        facts[package] = _installed(package)
    facts["gpu"], facts["driver"] = _nvidia_smi()
    return facts


def render(report: Report) -> str:
    """Return the report as the text that ``fdlib doctor`` prints."""
    lines = ["What this machine can do", ""]
    for name, value in report.facts.items():
        lines.append(f"  {name:<12}{value or 'none'}")
    lines.append("")
    for check in report.checks:
        lines.append(f"  {LABELS[check.name]:<32}{'ok' if check.ok else 'FAULT':<7}{check.detail}")
    when = "Here" if report.usable else "Once it is repaired,"
    lines += ["", f"  Tier: {report.tier}. {when} {report.can_do}"]
    lines += [f"  {note}" for note in report.notes]
    lines.append(f"  To repair: {report.repair}" if report.repair else "  Nothing to repair.")
    return "\n".join(lines)


def _run_selftest(time_limit_s: float) -> tuple[dict[str, dict], str]:
    """Run the known computations; return what was found by name, and how the child ended ('' when well)."""
    command = [sys.executable, *SELFTEST]
    ending = ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=time_limit_s)
        output = done.stdout
        if done.returncode:
            ending = f"the process died (exit code {done.returncode})"
    except subprocess.TimeoutExpired as stopped:
        output = _decoded(stopped.stdout)
        ending = f"no answer within {time_limit_s:g} s"
    found = {}
    for line in output.splitlines():
        if line.startswith("{"):
            finding = json.loads(line)
            found[finding.pop("name")] = finding
    return found, ending


def _decoded(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _expected(mode: str) -> tuple[str, ...]:
    if mode == "torch only":
        return ("online_softmax_attention",)
    return ("masked_sum", "flash_decode")


def _check(name: str, finding: dict | None, ending: str) -> Check:
    if finding is None:
        return Check(name, False, ending or "did not run")
    if "error" in finding:
        return Check(name, False, finding["error"].splitlines()[0])
    error = finding["max_error"]
    seen = "not finite" if error is None else f"{error:.1e}"
    return Check(name, finding["ok"], f"largest error {seen}")


def _tier(mode: str, torch_facts: dict) -> str:
    if mode == "torch only":
        return "torch only"
    return "GPU" if mode == "gpu" and torch_facts.get("gpu") else "interpreter"


def _faults(facts: dict, tier: str, torch_facts: dict, checks: tuple) -> list[tuple[str, str]]:
    """What makes the machine unusable: (sentence, the line that repairs it), the cause before its effects."""
    faults = []
    python = release(facts["python"])[:2]
    if not PYTHON_OLDEST <= python <= PYTHON_NEWEST:
        faults.append(
            (f"Python {facts['python']} was not tried.", "make clean lab PYTHON=python3.12")
        )
    if facts["torch"] is None:
        faults.append(("torch is not installed.", INSTALL))
    elif "error" in torch_facts:
        faults.append((f"torch does not import: {torch_facts['error']}", "make clean lab"))
    elif forbidden_by() is not None and tier == "interpreter":
        text = f"TRITON_INTERPRET is set to {forbidden_by()!r}, and torch sees no GPU here."
        faults.append((text, "unset TRITON_INTERPRET"))
    pair = bad_pair(facts["triton"], facts["numpy"], interpreting=tier == "interpreter")
    if pair:
        faults.append(pair)
    by_name = {check.name: check.ok for check in checks}
    if by_name.get("masked_sum") is False and not faults:
        faults.append((f"Triton {facts['triton']} itself does not work here.", "make clean lab"))
    elif not all(by_name.values()) and not faults:
        faults.append(("Triton works, fdlib's kernel does not: please report it.", "git pull"))
    return faults


def _notes(facts: dict, tier: str, torch_facts: dict) -> list[tuple[str, str]]:
    """What does not stop the course, each with its line."""
    notes = []
    if tier != "GPU" and facts["driver"] and "error" not in torch_facts:
        if torch_facts.get("cuda") is None:
            notes.append(
                (
                    "There is a GPU, but this torch is a build for the CPU.",
                    "make clean lab PIP_ARGS=",
                )
            )
        elif torch_facts.get("gpu"):
            notes.append(
                ("The GPU is not used: TRITON_INTERPRET is set.", "unset TRITON_INTERPRET")
            )
    capability = tuple(torch_facts.get("capability") or ())
    if tier == "GPU" and capability < (7, 5):
        line = "CUDA_VISIBLE_DEVICES= make lab"
        notes.append(("Triton needs a GPU of compute capability 7.5 or newer.", line))
    if facts["triton"] is None and str(facts["platform"]).startswith("Linux"):
        notes.append(("triton is not installed.", "pip install triton==3.7.1"))
    return notes


def _installed(package: str) -> str | None:
    names = (package, "triton-windows") if package == "triton" else (package,)
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _nvidia_smi() -> tuple[str | None, str | None]:
    """The first GPU's name and the driver's version; reads only."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None, None
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    first = done.stdout.strip().splitlines()[:1]
    if done.returncode or not first or "," not in first[0]:
        return None, None
    name, driver = first[0].rsplit(",", 1)
    return name.strip(), driver.strip()


def _text(value: object) -> str | None:
    return None if value is None else str(value)
