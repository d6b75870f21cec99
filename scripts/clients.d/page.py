"""What docs/guides/clients.md says, so that what is run is what is written there.

A block of the page that is run has a name behind its language: ```sh fence_redfish. In a block of commands each command with a
comment at its end is one step, named by the comment; the others (functions, variables) are put before every step.
"""
import os
import re
import subprocess
from pathlib import Path

from steps import Unexpected

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'guides' / 'clients.md'
# With these in the environment python-requests ignores that it was told not to verify.
NOT_FOR_CLIENTS = ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'http_proxy', 'https_proxy')


def block(name):
    """The text of the page's block of this name."""
    found = re.findall(rf'^```\w+ {re.escape(name)}\n(.*?)^```$', PAGE.read_text(), re.M | re.S)
    if len(found) != 1:
        raise Unexpected(f'docs/guides/clients.md has {len(found)} blocks named {name}')
    return found[0]


def commands(name):
    """@returns (what stands before every step, [(name of the step, command)])."""
    preamble, steps = '', []
    for line in re.split(r'(?<!\\)\n', block(name)):
        match = re.fullmatch(r'(.*\S)\s+# ([^#]+)', line, re.S)
        if match:
            steps.append((match[2].strip().replace(' ', '-'), match[1]))
        elif line.strip() and not line.startswith('#'):
            preamble += line + '\n'
    return preamble, steps


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in NOT_FOR_CLIENTS}
    return {**kept, 'NO_PROXY': '*', 'LANG': 'C.UTF-8', **more}


def run(command, env, seconds=300, cwd=None):
    """The command's standard output. An exit status other than 0 is a fault, told with all that it said."""
    try:
        done = subprocess.run(['bash', '-c', command], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unexpected(f'not done after {seconds} s') from None
    if done.returncode != 0:
        raise Unexpected(f'exit status {done.returncode}: {done.stdout[-1500:]} {done.stderr[-1500:]}')
    return done.stdout


def run_block(steps, client, name, env, checks, suffix='', cwd=None, but=()):
    """Runs a block of commands, a step each.

    @param checks name of the step: what is to hold then, given the output.
    @param but steps that are left out.
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
