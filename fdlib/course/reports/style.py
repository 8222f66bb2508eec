"""The look of a report in a notebook, light or dark: JupyterLab's colours, or the page's own.

The states' colours are those of Okabe and Ito 2008, "Color Universal Design", which
`fdlib.xray.draw.style` has too; black on each of them has a contrast of 5 to 1 or more.
"""

from __future__ import annotations

__all__ = ["STYLE"]

_STATES = {
    "ok": "#009E73",
    "wrong": "#D55E00",
    "error": "#CC79A7",
    "warning": "#E69F00",
    "running": "#56B4E9",
}
_BADGES = "\n".join(
    f".fdlib-report .fdlib-{word} {{ background: {colour}; color: #000; border-color: {colour} }}"
    for word, colour in _STATES.items()
)

STYLE = f"""
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
    --fdlib-ink: var(--vscode-foreground, #e8e8e8); color: var(--fdlib-ink);
  }}
}}
.fdlib-report p {{ margin: 2px 0; }}
.fdlib-report code, .fdlib-report pre {{
  font-family: var(--jp-code-font-family, monospace); font-size: .95em; line-height: 1.45;
  color: inherit; background: var(--fdlib-shade); border: 0; border-radius: 3px;
  white-space: pre-wrap; overflow-wrap: anywhere;
}}
.fdlib-report code {{ padding: 1px 4px; }}
.fdlib-report pre {{ margin: 4px 0; padding: 6px 8px; }}
.fdlib-report .fdlib-heading {{ font-size: 1.15em; font-weight: 600; }}
.fdlib-report .fdlib-title, .fdlib-report .fdlib-mistake, .fdlib-report .fdlib-label,
.fdlib-report caption {{ font-weight: 600; }}
.fdlib-report > div {{ margin-top: 10px; }}
.fdlib-report .fdlib-state {{ display: flex; gap: 8px; align-items: baseline; }}
.fdlib-report .fdlib-badge {{
  flex: none; display: inline-block; min-width: 4.2em; padding: 0 6px; border-radius: 3px;
  border: 1px solid var(--fdlib-line); text-align: center; font-size: .9em; box-sizing: border-box;
}}
{_BADGES}
.fdlib-report .fdlib-first {{
  border: 1px solid var(--fdlib-line); border-left: 5px solid #D55E00; border-radius: 3px;
  padding: 6px 10px;
}}
.fdlib-report .fdlib-first > .fdlib-state {{ font-weight: 600; }}
.fdlib-report ul {{ list-style: none; margin: 0; padding: 0; }}
.fdlib-report li {{ margin: 2px 0; padding: 0; }}
.fdlib-report li .fdlib-inner {{ margin-left: 5em; }}
.fdlib-report table {{ border-collapse: collapse; margin: 0 0 6px; font-size: 1em; }}
.fdlib-report caption {{ text-align: left; padding: 0 0 4px; color: inherit; caption-side: top; }}
.fdlib-report th, .fdlib-report td {{
  text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--fdlib-line);
  color: inherit; background: none; overflow-wrap: normal; vertical-align: baseline;
}}
"""
