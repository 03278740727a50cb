"""Training of the models that read the screen."""
