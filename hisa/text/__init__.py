"""Makes text that may be hostile safe for prompts, terminals and logs, and compares texts.

All text from models, screens, tools, tasks and files passes here before it is shown, logged or put
into a prompt; every package may use this one. Start with `safe_text.py` (terminals),
`prompt_text.py` (prompts) and `redact/`, which removes secrets; `prompts.py` renders the files of
the folder `prompts`.
"""
