"""Guards a run: holds its acts to looks, applies the policy, asks a person, keeps secrets."""
