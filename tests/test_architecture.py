"""DESIGN's arrows and STYLE's sizes, read from the source with ast."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from arrows import ARROWS, COURSE_ARROWS, XRAY_ARROWS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fdlib"
# recordings, and the script that made them: not part of the package's rooms
DATA = PACKAGE / "data"

NO_TORCH = ("fdlib", "device", "versions", "shapes", "gpus", "plan", "doctor", "cli")
MAX_FILE, MAX_FUNCTION, MAX_KERNEL = 250, 60, 80


def modules() -> dict[str, ast.Module]:
    paths = [path for path in PACKAGE.rglob("*.py") if DATA not in path.parents]
    return {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "fdlib"


def imported(tree: ast.AST) -> set[str]:
    """Every module that the code names in an import, wherever it stands."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {name if name in MODULES else node.module for name in whole}
    return names


def at_import(tree: ast.Module) -> set[str]:
    """What is imported when the module is: not inside functions, not for type checkers."""
    kept = [
        node
        for node in tree.body
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    ]
    return imported(ast.Module(body=kept, type_ignores=[]))


MODULES = modules()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_follow_the_arrows(module):
    tree = MODULES[module]
    mine = room(module)
    names = at_import(tree) if module == "fdlib" else imported(tree)
    seen = {room(name) for name in names if name.split(".")[0] == "fdlib"} - {mine}
    assert mine in ARROWS, f"fdlib/{mine} is a new room: give it its arrows here and in DESIGN"
    assert seen <= ARROWS[mine], f"{module} imports {sorted(seen - ARROWS[mine])}"


INNER_ARROWS = {"course": COURSE_ARROWS, "xray": XRAY_ARROWS}


def inner_room(module: str) -> str:
    parts = module.split(".")
    return parts[2] if len(parts) > 2 else parts[1]


@pytest.mark.parametrize("module", sorted(m for m in MODULES if room(m) in INNER_ARROWS))
def test_large_rooms_have_arrows_of_their_own(module):
    arrows, mine = INNER_ARROWS[room(module)], inner_room(module)
    inside = f"fdlib.{room(module)}."
    seen = {inner_room(n) for n in imported(MODULES[module]) if f"{n}.".startswith(inside)} - {mine}
    assert mine in arrows, f"{inside}{mine} is new: give it its arrows here"
    assert seen <= arrows[mine], f"{module} imports {sorted(seen - arrows[mine])}"


@pytest.mark.parametrize("name", INNER_ARROWS)
def test_arrows_inside_a_room_point_one_way(name):
    above: set[str] = set()
    for mine, seen in INNER_ARROWS[name].items():
        assert seen <= above, f"{mine} sees {sorted(seen - above)}, which do not stand above it"
        above.add(mine)
    assert above == {inner_room(m) for m in MODULES if room(m) == name}


@pytest.mark.parametrize("module", sorted(m for m in MODULES if room(m) in NO_TORCH))
def test_light_modules_import_no_torch(module):
    heavy = {"torch", "triton", "matplotlib", "numpy"}
    assert not {name.split(".")[0] for name in at_import(MODULES[module])} & heavy


def reachable(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for name in imported(MODULES[waiting.pop()]):
            if name in MODULES and name != "fdlib" and name not in found:
                found.add(name)
                waiting.append(name)
    return found


def triton_modules() -> list[str]:
    return sorted(m for m, tree in MODULES.items() if "triton" in imported(tree))


@pytest.mark.parametrize("module", triton_modules())
def test_a_kernel_never_imports_its_oracle(module):
    if room(module) == "course":
        pytest.skip("the course compares the two")
    oracles = {"fdlib.attention.naive", "fdlib.attention.online_softmax"}
    assert not reachable(module) & oracles


@pytest.mark.parametrize("module", [m for m in triton_modules() if room(m) != "course"])
def test_the_mode_is_chosen_before_triton_is_imported(module):
    """`require_triton()` stands above `import triton`."""
    tree = MODULES[module]
    lines = [
        n.lineno for n in tree.body if isinstance(n, ast.Expr) and "require_triton" in ast.dump(n)
    ]
    triton = [
        n.lineno for n in tree.body if isinstance(n, ast.Import) and n.names[0].name == "triton"
    ]
    assert lines, "require_triton() is not called"
    assert triton, "triton is imported elsewhere than at the top"
    assert min(lines) < min(triton)


def sources() -> list[Path]:
    folders = (PACKAGE, ROOT / "solutions", ROOT / "tests")
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def in_root(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", sources(), ids=in_root)
def test_sizes(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            jitted = any("jit" in ast.dump(decorator) for decorator in node.decorator_list)
            length = node.end_lineno - node.lineno + 1
            assert length <= (MAX_KERNEL if jitted else MAX_FUNCTION), (
                f"{node.name}: {length} lines"
            )


@pytest.mark.parametrize("path", sources(), ids=in_root)
def test_habits(path):
    assert path.stem not in ("utils", "helpers", "common", "misc")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    stars = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.names[0].name == "*"]
    assert not stars


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_says_what_it_exports(module):
    tree = MODULES[module]
    assert ast.get_docstring(tree), "no docstring"
    if not [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]:
        return  # an empty __init__, or names only
    targets = [
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    assert "__all__" in targets
