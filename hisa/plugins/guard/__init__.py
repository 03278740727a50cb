"""What guards a run: its acts, the policy, a person who is asked, and secrets nobody may see."""
