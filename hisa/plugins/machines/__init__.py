"""Systems with applications: profiles, virtual machines under QEMU, machines from a provider."""
