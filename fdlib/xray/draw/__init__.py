"""Pictures: data and a matplotlib Axes in, marks on the Axes out. Layout is all that is computed here.

One module a subject; `prepare_...` draws what stays and `draw_...` what moves with the data, ``ax`` first. What they
return, if anything, is what the picture says in words.
`style` holds the palette and the look that they share.
"""
