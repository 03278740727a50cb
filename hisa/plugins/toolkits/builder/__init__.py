"""Has a model write tools for an application, in the stages of ComputerRL, appendix A."""
