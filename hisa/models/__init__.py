"""Models over the OpenAI protocol: client, profiles, budgets."""
