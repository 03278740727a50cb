"""What guards a run: the policy, a person who is asked, and secrets that nobody may see."""
