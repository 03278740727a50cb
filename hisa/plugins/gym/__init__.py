"""BrowserGym as an environment, pages of MiniWoB++ as tasks, a desktop as one of Gymnasium."""
