/** Commands of a page in a shell, services in "another terminal", lines that are pasted into a terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Long enough for a guest to boot without KVM on a busy machine. */
const PATIENCE_MS = 300_000;

// Evaluates a text from descriptor 3, writes what it prints to the file $1, its exported variables to $2 and `ok` to descriptor 4, and
// waits for the next text. A command that fails ends the shell, after its name was printed. A prompt for a password reads `secret`.
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

/** Polls until \`test\` gives something; undefined after PATIENCE_MS, or where \`ended\` says that waiting is useless. */
async function until(test, ended) {
  const deadline = Date.now() + PATIENCE_MS;
  while (Date.now() < deadline) {
    // Asked first: what was printed before the end counts.
    const last = ended();
    const found = test();
    if (found) return found;
    if (last) return undefined;
    await wait(50);
  }
  return undefined;
}

/** A regular expression for output as a page shows it. */
export function patternOf(shown) {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts.join('[\\s\\S]*?');
}

/** One shell for all commands of a page: variables, functions and the folder last from block to block. */
export class Shell {
  #process;
  #output;
  /** Resolves to false when a command has ended the shell. */
  #exit;

  constructor(folder, environment, log) {
    this.#output = join(log, 'output');
    this.#process = spawn('bash', ['--norc', '-c', SESSION, 'page', this.#output, join(log, 'exported')], {
      cwd: folder,
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'],
    });
    this.#exit = once(this.#process, 'exit').then(() => false);
    // A write to a shell that a command has ended.
    this.#process.stdio[3].on('error', () => undefined);
  }

  /** Runs commands. @returns what they printed, and whether each of them succeeded. */
  async run(text) {
    this.#process.stdio[3].write(`${text}\0`);
    const succeeded = await Promise.race([
      once(this.#process.stdio[4], 'data').then(() => true),
      this.#exit,
      wait(PATIENCE_MS, false, { ref: false }),
    ]);
    return { succeeded, output: existsSync(this.#output) ? readFileSync(this.#output, 'utf8') : '' };
  }
}

/** The TCP ports at which something listens in this network namespace, as /proc spells them. */
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
    // In a session of its own, as in a terminal of its own: Ctrl-C is a signal to all of its processes.
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

  /** Whether it prints what the page shows. */
  async shows(shown) {
    const pattern = new RegExp(`^${patternOf(shown)}`);
    const found = await until(
      () => pattern.test(this.output),
      () => this.#ended,
    );
    return found !== undefined;
  }

  /** Whether it listens at a port that had no listener before. */
  async listens() {
    const found = await until(
      () => listeners().some((socket) => !this.#before.has(socket)),
      () => this.#ended,
    );
    return found !== undefined;
  }

  /** Presses Ctrl-C. @returns its exit status, or the signal that ended it. */
  async interrupt() {
    if (!this.#ended) {
      const exit = once(this.#process, 'exit');
      // Number, because the lint does not always infer the type of an id.
      process.kill(-Number(this.#process.pid), 'SIGINT');
      await exit;
    }
    return this.#process.exitCode ?? this.#process.signalCode;
  }
}

/** Lines to paste among what a service printed. */
export function linesToPaste(output) {
  const lines = output.slice(output.indexOf('To paste:')).split('\n').slice(1);
  const first = lines.findIndex((line) => line.startsWith('  '));
  const end = lines.findIndex((line, index) => index > first && line === '');
  return first < 0 ? [] : lines.slice(first, end).map((line) => line.trim());
}

/** Pastes lines into an interactive shell at a terminal. @returns the first line of \`shown\` that did not appear, or undefined. */
export async function paste(lines, shown, folder, environment) {
  const terminal = spawn('script', ['--quiet', '--flush', '--command', 'bash --norc -i', '/dev/null'], {
    cwd: folder,
    env: environment,
    // It reports on standard error that it was ended, which is what happens at the end.
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
