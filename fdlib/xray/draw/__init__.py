"""Pictures: data and a matplotlib Axes in, marks on the Axes out. Layout is all that is computed here.

One module a subject; each function is called `draw_...`, takes ``ax`` first and the ``title`` by keyword, returns None.
`style` holds the palette and the look that they share.
"""
