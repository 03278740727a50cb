"""Decides the next call: prompt from the bounded state, reply schema, format correction.

The agent's loop calls `plan` once a step, with the task, the look and the state's view. What the
model answers is parsed into one call, or a short sequence of calls, or asked for again. Start with
`planner.py`, then `view.py` (what the model is shown) and `reply.py`; `scaling.py` asks for
several replies and a judge. Other kinds of planners are announced in ``hisa.planners``; see
`hisa/wiring/planner_kind.py`.
"""
