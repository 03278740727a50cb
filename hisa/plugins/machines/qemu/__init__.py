"""Virtual machines under QEMU: built from Debian's packages, frozen when ready, cloned per run."""
