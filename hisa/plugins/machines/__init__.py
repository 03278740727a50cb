"""Systems with applications: profiles, virtual machines under QEMU, machines from a provider."""

from hisa.machine.plugins import Command

__all__ = ["MACHINE", "VM"]

MACHINE = Command(
    "hisa.plugins.machines.machines:machine",
    "List and build systems with applications.",
    after="mcp",
)
VM = Command(
    "hisa.plugins.machines.vm:vm", "Build, list and remove virtual machines.", after="machine"
)
