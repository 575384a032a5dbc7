"""The embedded PostgreSQL: one cluster per data folder, shared by every process of its OS user."""

from shared.embedded.cluster import Cluster, attach, ensure_running, is_running, stop, stop_if_idle
from shared.embedded.ground import GroundWatch
from shared.embedded.leases import IdleWatch, hold_lease, is_leased

__all__ = [
    "Cluster",
    "GroundWatch",
    "IdleWatch",
    "attach",
    "ensure_running",
    "hold_lease",
    "is_leased",
    "is_running",
    "stop",
    "stop_if_idle",
]
