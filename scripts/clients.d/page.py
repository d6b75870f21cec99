"""Reads the blocks of docs/guides/clients.md, so that the scripts run what the page shows.

A block for a script has a name after its language: ```sh fence_redfish. In a block of commands, each command with a comment
at its end is a step. The name of the step is the comment, with hyphens for spaces. Other lines (functions, variables) run
before every step.
"""
import os
import re
import subprocess
from pathlib import Path

from steps import Unexpected

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'guides' / 'clients.md'
# With the first four variables, some clients verify certificates although the verification is disabled. The last two name proxies.
NOT_FOR_CLIENTS = ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'http_proxy', 'https_proxy')


def block(name):
    """Returns the text of the page's block with this name."""
    found = re.findall(rf'^```\w+ {re.escape(name)}\n(.*?)^```$', PAGE.read_text(), re.M | re.S)
    if len(found) != 1:
        raise Unexpected(f'docs/guides/clients.md has {len(found)} blocks named {name}')
    return found[0]


def commands(name):
    """Returns (lines before every step, [(name of the step, command)])."""
    preamble, steps = '', []
    for line in re.split(r'(?<!\\)\n', block(name)):
        match = re.fullmatch(r'(.*\S)\s+# ([^#]+)', line, re.S)
        if match:
            steps.append((match[2].strip().replace(' ', '-'), match[1]))
        elif line.strip() and not line.startswith('#'):
            preamble += line + '\n'
    return preamble, steps


def environment(**more):
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_FOR_CLIENTS}
    return {**inherited, 'NO_PROXY': '*', 'LANG': 'C.UTF-8', **more}


def run(command, env, seconds=300, cwd=None):
    """Returns the standard output of a command. Raises Unexpected if it fails or takes more than `seconds`."""
    try:
        done = subprocess.run(['bash', '-c', command], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unexpected(f'not done after {seconds} s') from None
    if done.returncode != 0:
        raise Unexpected(f'exit status {done.returncode}: {done.stdout[-1500:]} {done.stderr[-1500:]}')
    return done.stdout


def run_block(steps, client, name, env, checks, suffix='', cwd=None, but=()):
    """Runs a block of commands, each as a step.

    @param checks checks of the output, by name of the step. A name that is not on the page counts as a failed step.
    @param but names of steps that do not run. Here too, a name that is not on the page counts as a failed step.
    """
    preamble, todo = commands(name)
    for missing in {*checks, *but} - {step for step, _ in todo}:
        steps.failure(client, missing + suffix, f'not on the page (block {name})')
    for step, command in todo:
        if step in but:
            continue
        with steps.step(client, step + suffix):
            output = run(preamble + command, env, cwd=cwd)
            if step in checks:
                checks[step](output)
