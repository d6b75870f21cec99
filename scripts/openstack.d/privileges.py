"""Runs privileged functions of OpenStack services in their own process. The lab runs as root."""
import importlib

from oslo_privsep import priv_context


def run_in_this_process(*modules):
    """Without this, the services start helpers with sudo and rootwrap, which the lab does not have."""
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for value in vars(module).values():
            if isinstance(value, priv_context.PrivContext):
                value.set_client_mode(False)
