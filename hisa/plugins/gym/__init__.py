"""BrowserGym as an environment, MiniWoB++ pages as tasks, a desktop as a Gymnasium environment."""
