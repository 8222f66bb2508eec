"""The look of a report in a notebook, light or dark: JupyterLab's colours, or the page's own.

The states' colours are those of the pictures; black on each of them has a contrast of 5 to 1 or more.
"""

from __future__ import annotations

from fdlib.xray.draw.style import GREEN, ORANGE, PURPLE, SKY, VERMILION

__all__ = ["STYLE"]

_STATES = {"ok": GREEN, "wrong": VERMILION, "error": PURPLE, "warning": ORANGE, "running": SKY}
_BADGES = "\n".join(
    f"& .fdlib-{word} {{ background: {colour}; color: #000; border-color: {colour} }}"
    for word, colour in _STATES.items()
)

_RULES = f"""
.fdlib-report {{
  --fdlib-ink: var(--jp-ui-font-color1, var(--vscode-foreground, inherit));
  --fdlib-line: var(--jp-border-color1, rgba(128, 128, 128, .6));
  --fdlib-shade: var(--jp-layout-color2, rgba(128, 128, 128, .14));
  color: var(--fdlib-ink); max-width: 60rem; padding: 2px 0;
  font-family: var(--jp-ui-font-family, system-ui, sans-serif);
  font-size: var(--jp-content-font-size1, 14px); line-height: 1.5; overflow-wrap: anywhere;
}}
@media (prefers-color-scheme: dark) {{
  body:not([data-jp-theme-light]) .fdlib-report {{
    --fdlib-ink: var(--vscode-foreground, #e8e8e8);
    background: var(--vscode-editor-background, #1c1c1c); padding: 8px;
  }}
}}
& p {{ margin: 2px 0; }}
& code, & pre {{
  font-family: var(--jp-code-font-family, monospace); font-size: .95em; line-height: 1.45;
  color: inherit; background: var(--fdlib-shade); border: 0; border-radius: 3px;
  white-space: pre-wrap; overflow-wrap: anywhere;
}}
& code {{ padding: 1px 4px; }}
& pre {{ margin: 4px 0; padding: 6px 8px; }}
& .fdlib-heading {{ font-size: 1.15em; font-weight: 600; }}
& .fdlib-title, & .fdlib-mistake, & .fdlib-label,
& caption {{ font-weight: 600; }}
& > div {{ margin-top: 10px; }}
& .fdlib-state {{ display: flex; gap: 8px; align-items: baseline; }}
& .fdlib-badge {{
  flex: none; display: inline-block; min-width: 5.4em; padding: 0 6px; border-radius: 3px;
  border: 1px solid var(--fdlib-line); text-align: center; font-size: .9em; box-sizing: border-box;
}}
{_BADGES}
& .fdlib-first {{
  border: 1px solid var(--fdlib-line); border-left: 5px solid {VERMILION}; border-radius: 3px;
  padding: 6px 10px;
}}
& .fdlib-mistake {{ font-size: 1.08em; }}
& ul {{ list-style: none; margin: 0; padding: 0; }}
& li {{ margin: 2px 0; padding: 0; }}
& .fdlib-check > .fdlib-inner {{ margin-left: calc(4.86em + 8px); }}
& table {{ border-collapse: collapse; margin: 0 0 6px; font-size: 1em; }}
& caption {{ text-align: left; padding: 0 0 4px; color: inherit; caption-side: top; }}
& th, & td {{
  text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--fdlib-line);
  color: inherit; background: none; overflow-wrap: normal; vertical-align: baseline;
}}
"""

# A class named twice outweighs what JupyterLab says of lists and tables.
STYLE = _RULES.replace("&", ".fdlib-report.fdlib-report")
