"""Text: made safe for prompts, terminals and logs where it may be hostile, and compared.

Whatever comes from models, screens, tools, tasks and files passes here before it is shown, logged
or put into a prompt; every room may call it. Start with `safe_text.py` (terminals),
`prompt_text.py` (prompts) and `redact/`, which takes secrets out; `prompts.py` renders the files
under `prompts`.
"""
