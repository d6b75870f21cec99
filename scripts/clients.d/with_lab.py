"""The page docs/guides/three-hosts.md with Ironic: three libvirt hosts behind ssh, from nothing to available nodes."""
import os
import subprocess
from pathlib import Path

from steps import Unexpected

NAME = 'lab'
NEEDS_HTTPS = False
PAGE = 'docs/guides/three-hosts.md'


def run(lab):
    """Starts its own hosts, daemon and Ironic, and does not use the daemon of the other clients."""
    if os.getuid() != 0 or not Path('/usr/sbin/sshd').exists():
        lab.steps.skip(NAME, 'enroll', 'needs root and openssh-server')
        return
    with lab.steps.step(NAME, 'enroll'):
        words = ['node', 'scripts/docs.d/main.js', '--as', 'scripts/clients', PAGE]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unexpected(done.stdout[-3000:] + done.stderr[-1000:])
