/**
 * Runs commands of a page in a shell, services in "another terminal", and pasted lines on a
 * terminal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Long enough for a guest to boot without KVM on a busy host. */
const TIMEOUT_MS = 300_000;

// Evaluates texts from descriptor 3, each up to a NUL. Writes the output of a text to the file $1, the exported
// variables to the file $2, and `ok` to descriptor 4. A failed command ends the shell, which first prints the command.
// Commands read the line `secret` from standard input, for example at a password prompt.
const SESSION = `
set -Eo pipefail
trap 'printf "status %s: %s\\n" "$?" "$BASH_COMMAND" >&2' ERR
while IFS= read -r -d '' text <&3; do
  set -e
  eval "$text" 3<&- 4>&- >"$1" 2>&1 <<<secret
  set +e
  export -p >"$2"
  printf 'ok\\n' >&4
done
`;

/**
 * Polls until `test` returns a value. Returns undefined after TIMEOUT_MS, or after `ended`
 * returns true.
 */
async function until(test, ended) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (Date.now() < deadline) {
    // Calls `ended` before `test`, so that `test` also sees output that arrives just before the end.
    const last = ended();
    const found = test();
    if (found) return found;
    if (last) return undefined;
    await wait(50);
  }
  return undefined;
}

/** Returns the source of a regular expression for output on a page. `…` matches any text. */
export function patternOf(shown) {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts.join('[\\s\\S]*?');
}

/**
 * A shell for all commands of a page: variables, functions and the folder stay from block to block.
 */
export class Shell {
  #process;
  #output;
  /** Resolves to false after a command has ended the shell. */
  #exit;

  constructor(folder, environment, log) {
    this.#output = join(log, 'output');
    this.#process = spawn('bash', ['--norc', '-c', SESSION, 'page', this.#output, join(log, 'exported')], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'],
    });
    this.#exit = once(this.#process, 'exit').then(() => false);
    // Ignores a failed write to an ended shell.
    this.#process.stdio[3].on('error', () => undefined);
  }

  /**
   * Runs commands.
   * @returns the output, and whether all commands succeeded within TIMEOUT_MS.
   */
  async run(text) {
    this.#process.stdio[3].write(`${text}\0`);
    const succeeded = await Promise.race([
      once(this.#process.stdio[4], 'data').then(() => true),
      this.#exit,
      wait(TIMEOUT_MS, false, { ref: false }),
    ]);
    return { succeeded, output: existsSync(this.#output) ? readFileSync(this.#output, 'utf8') : '' };
  }
}

/**
 * Returns the inodes of the listening TCP sockets of this network namespace. A new socket has a new inode,
 * even on a port that another process has just closed.
 */
function listeners() {
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A')
      .map((fields) => fields[9]),
  );
}

/** A command that continues to run. */
export class Service {
  #process;
  #log;
  #before = new Set(listeners());

  constructor(command, folder, environment, log) {
    this.#log = log;
    const file = openSync(log, 'w');
    // Runs in its own session, as in a terminal, so that Ctrl-C reaches all its processes.
    this.#process = spawn('bash', ['--norc', '-c', command], {
      cwd: folder,
      env: environment,
      detached: true,
      stdio: ['ignore', file, file],
    });
    closeSync(file);
  }

  get output() {
    return readFileSync(this.#log, 'utf8');
  }

  get #ended() {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /**
   * Waits until the service has printed the output on the page.
   * @returns false if it ends first, or after TIMEOUT_MS.
   */
  async shows(shown) {
    const pattern = new RegExp(`^${patternOf(shown)}`);
    const found = await until(
      () => pattern.test(this.output),
      () => this.#ended,
    );
    return found !== undefined;
  }

  /**
   * Waits until any process of the network namespace listens on a socket that is newer than this service.
   * @returns false if the service ends first, or after TIMEOUT_MS.
   */
  async listens() {
    const found = await until(
      () => listeners().some((socket) => !this.#before.has(socket)),
      () => this.#ended,
    );
    return found !== undefined;
  }

  /**
   * Sends Ctrl-C (SIGINT), and waits for the end of the service.
   * @returns the exit status, or the signal that ended the service.
   */
  async interrupt() {
    if (!this.#ended) {
      const exit = once(this.#process, 'exit');
      // Uses Number, because lint does not always infer the type of a process id.
      process.kill(-Number(this.#process.pid), 'SIGINT');
      await exit;
    }
    return this.#process.exitCode ?? this.#process.signalCode;
  }
}

/** Returns the lines to paste from the output of a service. */
export function linesToPaste(output) {
  const lines = output.slice(output.indexOf('Lines to paste:')).split('\n').slice(1);
  const first = lines.findIndex((line) => line.startsWith('  '));
  const end = lines.findIndex((line, index) => index > first && line === '');
  return first < 0 ? [] : lines.slice(first, end).map((line) => line.trim());
}

/**
 * Pastes lines into an interactive shell on a terminal.
 * @returns `{missing, text}`: the first missing line of `shown`, and all output; undefined if no line is missing.
 */
export async function paste(lines, shown, folder, environment) {
  const terminal = spawn('script', ['--quiet', '--flush', '--command', 'bash --norc -i', '/dev/null'], {
    cwd: folder,
    env: environment,
    // Ignores standard error, on which `script` reports its end.
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let text = '';
  let read = 0;
  terminal.stdout.setEncoding('utf8').on('data', (part) => (text += part.replaceAll('\r', '')));
  terminal.stdin.write(`${lines.join('\n')}\n`);
  try {
    for (const line of shown.split('\n')) {
      const typed = /^\S*# (.*)$/.exec(line)?.[1];
      if (typed !== undefined) terminal.stdin.write(`${typed}\n`);
      const pattern = new RegExp(patternOf(typed ?? line), 'g');
      const end = await until(
        () => {
          pattern.lastIndex = read;
          return pattern.test(text) ? pattern.lastIndex : undefined;
        },
        () => terminal.exitCode !== null,
      );
      if (end === undefined) return { missing: line, text };
      read = end;
    }
    return undefined;
  } finally {
    terminal.kill();
  }
}
