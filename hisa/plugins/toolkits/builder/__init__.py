"""Has a model write tools for an application: what is lacking, programs, and tests of them.

The three stages are those of ComputerRL, appendix A. What a model writes runs inside a throw-away
machine alone, under limits, and is kept for a person to review; it becomes a plug-in by ``accept``.
"""
