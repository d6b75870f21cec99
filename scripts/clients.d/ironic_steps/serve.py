"""Runs Ironic at http://127.0.0.1:6385 until its standard input ends: `python3 -m ironic_steps.serve FOLDER`. Prints a line when Ironic answers."""
import sys
from pathlib import Path
from types import SimpleNamespace

from ironic_service import Ironic
from sushy_steps.system import debians_sushy

folder = Path(sys.argv[1])
ironic = Ironic(folder, SimpleNamespace(folder=folder, url='http://127.0.0.1:1'), debians_sushy(folder), port=6385)
try:
    ironic.start()
    print('ready', flush=True)
    sys.stdin.read()
finally:
    ironic.stop()
