"""Runs DMTF's tools and prints a line for each: `run.py TOOLS_FOLDER URL --user NAME --password-file FILE --reports FOLDER`.

Ends with status 1 if a tool found a fault or has no result. The tools run unchanged, as in their READMEs, and their own
summaries count.
"""
import argparse
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple, Optional

# The time limit of each tool. The slowest tool is the protocol validator, which waits half a minute for each event stream.
TIME_LIMIT_SECONDS = 3600

LIBRARIES = ('python', 'python-redfish-library/src', 'Redfish-Tacklebox')
PROFILES = (
    ('ironic', 'OpenStackIronicProfile', '1.2.0'),
    ('ocp', 'OCPBaselineHardwareManagement', '1.0.1'),
    ('ocp', 'OCPServerHardwareManagement', '0.2.4'),
)
TOOLS = ('service', 'protocol', 'ironic', 'ocp', 'use-cases')
NAMES = ('pass', 'warn', 'fail', 'not tested')


class Run(NamedTuple):
    """A run of a tool."""

    key: str
    title: str
    folder: str
    arguments: list
    report: str


def read_counts(text):
    """Returns the four numbers of a tool's summary, in the order of NAMES; None without a summary."""
    # Protocol-Validator and Use-Case-Checkers.
    line = re.search(r'Summary - PASS: (\d+), WARN: (\d+), FAIL: (\d+), NOT.TESTED: (\d+)', text)
    if line:
        return tuple(map(int, line.groups()))
    # Service-Validator: a table of one row.
    row = re.search(r'PASS *\| *WARN *\| *FAIL *\| *NOT TESTED *\|\s*\+[-+]+\+\s*\| *(\d+) *\| *(\d+) *\| *(\d+) *\| *(\d+) *\|', text)
    if row:
        return tuple(map(int, row.groups()))
    # Interop-Validator: a row for each number.
    rows = dict(re.findall(r'^\| (Pass|Warning|Fail|Not Tested) +\| +(\d+) \|$', text, re.MULTILINE))
    if len(rows) == 4:
        return tuple(int(rows[name]) for name in ('Pass', 'Warning', 'Fail', 'Not Tested'))
    return None


def find_profile(name, version, folders) -> Optional[Path]:
    """Finds the file of a profile in these folders and their subfolders."""
    wanted = f'{name}.v{version.replace(".", "_")}.json'
    for folder in folders:
        found = sorted(folder.rglob(wanted)) if folder.is_dir() else []
        if found:
            return found[0]
    return None


def version_of(folder: Path) -> str:
    """Returns the version in the setup.py of a tool; `?` if there is none."""
    setup = folder / 'setup.py'
    found = re.search(r'''version\s*=\s*['"]([\d.]+)''', setup.read_text(encoding='utf-8')) if setup.is_file() else None
    return found.group(1) if found else '?'


def trusting_context() -> ssl.SSLContext:
    """Returns a context that accepts any certificate. The protocol validator checks the service's certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def log_in(url: str, user: str, password: str) -> Optional[str]:
    """Returns why a login fails; None if it succeeds. Without a session, some tools would report faults everywhere."""
    trusting = trusting_context()

    def ask(method, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(url + path, data, {'Content-Type': 'application/json', **headers}, method=method)
        return urllib.request.urlopen(asked, timeout=30, context=trusting)

    try:
        with ask('POST', '/redfish/v1/SessionService/Sessions', {'UserName': user, 'Password': password}) as made:
            token, session = made.headers['X-Auth-Token'], json.load(made)['@odata.id']
        ask('DELETE', session, **{'X-Auth-Token': token}).close()
    except (OSError, ValueError, KeyError) as error:
        return str(error)
    return None


def copy_own_schemas(url: str, folder: Path):
    """Copies the schemas that the service itself serves: the references of its metadata without a host."""
    context = trusting_context()

    def read(path: str) -> bytes:
        with urllib.request.urlopen(url + path, context=context, timeout=60) as answer:
            return answer.read()

    for path in re.findall(r'<edmx:Reference Uri="(/[^"]*)"', read('/redfish/v1/$metadata').decode()):
        (folder / path.rpartition('/')[2]).write_bytes(read(path))


def plan(tools: Path, options, password: str):
    """Returns all runs in order. The use cases come last, because they restart machines."""
    account = ['-u', options.user, '-p', password, '-r', options.url]
    published = tools / 'Redfish-Publications' / 'csdl'
    cache = options.reports / 'schemas'
    cache.mkdir(parents=True, exist_ok=True)
    local = ['--schema_directory', str(cache)]
    # Without these files, the tool downloads them. With --skipschema, it reads no schemas from the service either, so
    # the folder must also contain the schemas of the service.
    if published.is_dir():
        shutil.copytree(published, cache, dirs_exist_ok=True)
        copy_own_schemas(options.url, cache)
        local.append('--skipschema')
    yield Run('service', 'Service-Validator', 'Redfish-Service-Validator',
              ['RedfishServiceValidator.py', *account, '--authtype', 'Session', *local, '--logdir'], 'service')
    yield Run('protocol', 'Protocol-Validator', 'Redfish-Protocol-Validator',
              ['rf_protocol_validator.py', *account, '--no-cert-check', '--report-dir'], 'protocol')
    folders = [*([options.profiles] if options.profiles else []), tools,
               *([Path(os.environ['RACKLESS_REDFISH_SCHEMAS'], 'profiles')] if 'RACKLESS_REDFISH_SCHEMAS' in os.environ else [])]
    for key, name, version in PROFILES:
        profile = find_profile(name, version, folders)
        title = f'Interop-Validator {name} {version}'
        arguments = [] if profile is None else [
            'RedfishInteropValidator.py', str(profile), *account, '--authtype', 'Session', '--no_online_profiles',
            '--required_profiles_dir', str(tools / 'HWMgmt-OCP-Profiles'), '--logdir']
        yield Run(key, title, 'Redfish-Interop-Validator', arguments, f'interop-{name}')
    yield Run('use-cases', 'Use-Case-Checkers', 'Redfish-Use-Case-Checkers',
              ['rf_use_case_checkers.py', *account, '--report-dir'], 'use-cases')


def perform(run: Run, tools: Path, reports: Path) -> bool:
    """Runs a tool and prints its line. Returns False if it found a fault or has no result."""
    folder = tools / run.folder
    title = f'{run.title} ({version_of(folder)})'
    if not run.arguments:
        print(f'{title}: FAIL, the profile is in none of the folders', flush=True)
        return False
    if not folder.is_dir():
        print(f'{title}: FAIL, {folder} does not exist', flush=True)
        return False
    report = reports / run.report
    report.mkdir(parents=True, exist_ok=True)
    libraries = [str(tools / library) for library in LIBRARIES]
    try:
        done = subprocess.run(
            [sys.executable, '-B', *run.arguments, str(report)], cwd=folder, timeout=TIME_LIMIT_SECONDS, check=False,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(libraries), 'NO_COLOR': '1'},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, why = done.stdout, f'status {done.returncode}'
    except subprocess.TimeoutExpired as slow:
        output, why = slow.stdout or b'', f'not done after {TIME_LIMIT_SECONDS} s'
    text = re.sub(r'\x1b\[[0-9;]*m', '', output.decode('utf-8', 'replace'))
    (report / 'output.txt').write_text(text, encoding='utf-8')
    counts = read_counts(text)
    if counts is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), '')
        print(f'{title}: FAIL, no result ({why}): {last.strip()}', flush=True)
        return False
    print(f'{title}: ' + ', '.join(f'{count} {name}' for name, count in zip(NAMES, counts)), flush=True)
    return counts[2] == 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument('tools', type=Path)
    parser.add_argument('url')
    parser.add_argument('--user', required=True)
    parser.add_argument('--password-file', type=Path, required=True)
    parser.add_argument('--reports', type=Path, required=True)
    parser.add_argument('--profiles', type=Path)
    parser.add_argument('--tools', dest='only', default=','.join(TOOLS))
    options = parser.parse_args()
    password = options.password_file.read_text(encoding='utf-8').rstrip('\n')
    wanted = set(options.only.split(','))
    unknown = wanted - set(TOOLS)
    if unknown:
        parser.error(f'no such tool: {", ".join(sorted(unknown))}')
    refused = log_in(options.url, options.user, password)
    if refused is not None:
        sys.exit(f'{options.user} cannot log in at {options.url}: {refused}')
    results = [perform(run, options.tools, options.reports)
               for run in plan(options.tools, options, password) if run.key in wanted]
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
