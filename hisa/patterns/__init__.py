"""What is learned from finished runs: stores, embedders, induction, synthesis, SOPs."""
