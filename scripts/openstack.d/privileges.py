"""Runs the privileged functions of OpenStack services inside the process of the service.

The lab runs as root, so the services need no helper process.
"""
import importlib

from oslo_privsep import priv_context


def run_in_this_process(*modules):
    """Turns off the helper processes of these modules.

    The helpers start with sudo and rootwrap, which the lab does not have.
    """
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for value in vars(module).values():
            if isinstance(value, priv_context.PrivContext):
                value.set_client_mode(False)
