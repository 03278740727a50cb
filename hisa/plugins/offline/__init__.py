"""The offline model: rules instead of a language model, behind the OpenAI protocol.

It follows tasks that are written as steps, and does the state manager's jobs by rules. It does not
plan by itself, and its replies say so.
"""
