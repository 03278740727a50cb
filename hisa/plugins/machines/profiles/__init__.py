"""Systems with applications, built from Debian's packages: the same for a desktop and for QEMU."""
