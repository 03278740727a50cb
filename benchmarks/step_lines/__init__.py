"""How many lines of steps are true, judged by sources that the lines do not use."""
