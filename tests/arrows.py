"""Which room may import which: DESIGN's arrows, held by test_architecture.py."""

from __future__ import annotations

# room -> the rooms it may import from, besides itself. `shapes, gpus -> plan -> attention`; nobody sees `course`.
ARROWS: dict[str, set[str]] = {
    "device": set(),
    "versions": set(),
    "shapes": set(),
    "gpus": set(),
    "plan": {"shapes", "gpus"},
    "attention": {"shapes", "gpus", "plan", "device"},
    "passage": {"data", "shapes"},
    "recorded": set(),
    "xray": {"shapes", "gpus", "plan", "device", "versions", "recorded"},
    "record": {"shapes", "gpus", "plan", "device", "doctor", "attention", "xray"},
    "masked_sum": {"device"},
    "selftest": {"device", "masked_sum", "attention"},
    "doctor": {"device", "versions"},
    "course": {
        *("fdlib", "device", "versions", "shapes", "gpus", "plan", "attention"),
        *("passage", "recorded", "xray", "masked_sum", "doctor"),
    },
    "cli": {"fdlib", "doctor", "course", "record"},
    "__main__": {"cli"},
    "fdlib": {"device"},  # the rest is imported when it is first used
}
# Inside fdlib/course: its rooms and the modules beside them, each with what it may import; it sees only what
# stands above it. `expect -> checks -> grading -> reports`.
COURSE_ARROWS: dict[str, set[str]] = {
    "catalogue": set(),
    "shell": set(),
    "regions": set(),
    "reading": set(),
    "show": set(),
    "prediction": set(),
    "first_kernels": set(),
    "longest_key": set(),
    "notebooks": set(),
    "naive_kernels": set(),
    "course_map": {"catalogue"},
    "expect": set(),
    "checks": {"catalogue", "expect"},
    "mistakes": {"catalogue", "regions"},
    "hints": {"catalogue"},
    "grading": {"catalogue", "regions", "reading", "expect", "checks", "mistakes"},
    "files": {"catalogue", "reading"},
    "build": {"files", "regions"},
    "fresh": {"build", "catalogue", "files"},
    "progress": {"catalogue", "files", "grading", "hints", "reading"},
    "reports": {"catalogue", "expect", "files", "grading", "shell"},
    "quizzes": {"progress", "reports", "shell"},
    "attempt": {"catalogue", "files", "grading", "progress", "reports"},
    "coach": {"catalogue", "files", "hints", "progress", "reading", "regions", "reports"},
    "overview": {"catalogue", "files", "progress", "reading", "regions"},
    "watch": {"attempt", "catalogue", "files", "reading"},
    "gradebook": {"grading", "reports"},
    "pytest_plugin": {"catalogue", "checks", "gradebook", "grading", "reports"},
    "learner": {
        *("attempt", "catalogue", "coach", "files", "fresh", "grading", "overview"),
        *("reading", "regions"),
    },
    "magic": {"build", "catalogue", "files", "fresh", "learner", "reading", "regions", "shell"},
    "course": {"learner", "magic", "prediction", "quizzes", "shell", "show"},
}
# The rooms of the X-ray, each with what it may import; every room stands below those that it sees.
XRAY_ARROWS: dict[str, set[str]] = {
    "xray": set(),
    "alone": set(),
    "called": set(),
    "causes": set(),
    "compiled": set(),
    "schedule": set(),
    "interpreter": set(),
    "tracing": {"alone", "called", "causes", "interpreter"},
    "trace": {"called", "tracing"},
    "instrument": set(),
    "recorder": {"instrument", "schedule"},
    "timeline": {"alone", "called", "recorder", "schedule"},
    "recordings": {"schedule"},
    "simulation": {"tracing"},
    "simulate": {"schedule", "simulation", "tracing"},
    "residuals": {"recordings", "simulate", "simulation"},
    "figures": {"recordings", "schedule", "simulate", "tracing"},
    "draw": {"figures", "schedule"},
    "widgets": {"draw", "figures", "trace"},
    "readme_picture": {"draw", "widgets"},
}
