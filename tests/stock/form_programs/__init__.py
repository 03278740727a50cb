"""Programs that a form in memory has for a desktop: each knows its own usage, and no client.

They are copied beside a file ``windows`` and a socket ``calls`` of `tests.stock.stock_desktop`.
"""
