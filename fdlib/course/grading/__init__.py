"""Grade one exercise: run it in a process of its own, compare, judge, and say what was wrong.

The way of a check, from who asks to the learner's code and back:

    runner          reads the file (loader, honest) and takes up to three steps: values, compiling, GPU
    steps           one step: a scratch folder, a request, a worker, what it left behind
    process         starts a supervisor and a worker behind it, waits, drains the output
    supervise       the supervisor, a process: limits, and nothing is left running or lying about
    worker          the process that runs the learner's code (opening, limits, originals, printed)
    compile_worker  the process that compiles it (compile_errors, compile_rules, block_rules)
    events          what a worker tells, as JSON lines
    judge           events and the way it ended, to a verdict; compiling has that of the other two steps
    verdict         the data that comes out, for `fdlib.course.reports`

Inside the worker, for one check:

    observe         the comparisons of a run; compare makes them, diagnose holds two runs side by side
    compare         the learner's values against the right ones
    watched         kernels with their memory watched (memory) and races looked for (races)
    diagnose        which known mistake the answer equals; structure says what stands out if none
"""
