/** Runs the built daemons as child processes, on free loopback ports with new folders. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE, sendRequest } from './wire.js';

/** bcrypt hash of {@link PASSWORD} with cost 8, which even a busy host verifies quickly. */
const PASSWORD_HASH = '$2b$08$K9y/KIvz24jbdE2TXe5FGer/qBEwxZUFLuYBuMH9FVPOv4N1mmsB6';
/** The password of each user of {@link startBmc}. */
export const PASSWORD = 'the right password';
/** The key of the proxy's upstreams. No log may contain it. A client may see it only if an upstream answers with it. */
export const UPSTREAM_KEY = 'sk-upstream-key-of-the-attacks';

/** Running processes, which this process kills at its end. */
const running = new Set();
/** Folders, which this process removes at its end. */
const folders = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

// Without a handler, a signal would end this process without its `exit` event.
for (const [signal, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  process.on(signal, () => process.exit(status));
}

/** Makes a folder. This process removes the folder at its end. Returns the path. */
export function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-attack-'));
  folders.add(folder);
  return folder;
}

/** A process of bmc-daemon or model-proxy. */
export class Daemon {
  #child;
  #exit;
  #probe;
  /** The last 20 million characters of standard output and standard error. */
  output = '';

  /**
   * Starts a command.
   * @param command the program and its arguments.
   * @param env the environment, in addition to PATH.
   * @param probe a path that the daemon always answers with 200, for the requests of an ordinary client.
   */
  constructor(command, env, probe) {
    this.#probe = probe;
    const [file, ...args] = command;
    // Passes only these variables: the caller's environment must not configure the daemon.
    this.#child = spawn(file, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this.#child);
    const append = (text) => (this.output = `${this.output}${text}`.slice(-20_000_000));
    this.#child.stdout.setEncoding('utf8').on('data', append);
    this.#child.stderr.setEncoding('utf8').on('data', append);
    this.#exit = once(this.#child, 'close').then(([code, signal]) => {
      running.delete(this.#child);
      return code ?? signal;
    });
  }

  get pid() {
    return this.#child.pid;
  }

  get isAlive() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Waits until the daemon serves, and reads its port from the output.
   * @returns this daemon.
   * @throws {Error} if the daemon ended or took too long.
   */
  async serving() {
    const [, port] = await this.waitForOutput(/serving .*?https?:\/\/[^\s"]*?:(\d+)/);
    this.port = Number(port);
    return this;
  }

  #ended() {
    return `the process ended with ${this.#child.signalCode ?? `exit code ${this.#child.exitCode}`}`;
  }

  /**
   * Waits until the daemon's output matches.
   * @returns the match.
   * @throws {Error} if the daemon ended or took too long.
   */
  async waitForOutput(pattern) {
    for (const end = Date.now() + PATIENCE * 1000; Date.now() < end; await delay(20)) {
      const found = pattern.exec(this.output);
      if (found !== null) return found;
      if (!this.isAlive) throw new Error(`${this.#ended()} without printing ${pattern}: ${this.output.slice(-1000)}`);
    }
    throw new Error(`the process did not print ${pattern} within ${PATIENCE} s: ${this.output.slice(-1000)}`);
  }

  /**
   * Sends a request.
   * @param options as for {@link sendRequest}.
   */
  request(options) {
    return sendRequest(this.port, options);
  }

  /** Returns the used CPU time of all threads in milliseconds, in steps of 10. */
  cpuMs() {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Returns the resident memory in MiB. */
  memoryMiB() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))[1]) / 1024;
  }

  /**
   * Checks that the process lives, and answers a GET with 200 within a time limit.
   * @throws {Error} if the process has ended, if the status is not 200, or if the answer is late.
   */
  async check(seconds = PATIENCE) {
    if (!this.isAlive) throw new Error(`${this.#ended()}: ${this.output.slice(-1000)}`);
    const { status } = await this.request({ path: this.#probe, seconds });
    if (status !== 200) throw new Error(`GET ${this.#probe} of another client: ${status}`);
  }

  /**
   * Runs an attack while another client sends GET requests, with a pause of 50 ms after each answer.
   * @returns the result of the attack.
   * @throws {Error} if the attack throws, or if an answer to that client is not 200 or takes longer than `seconds`.
   */
  async attackWhileServing(seconds, attack) {
    let isOver = false;
    const otherClient = async () => {
      do {
        await this.check(seconds);
        await delay(50);
      } while (!isOver);
    };
    const watched = otherClient();
    // Handles the rejection now, because the attack may still run.
    watched.catch(() => undefined);
    try {
      const value = await Promise.race([attack(), watched.then(() => undefined)]);
      isOver = true;
      await watched;
      return value;
    } finally {
      isOver = true;
    }
  }

  /**
   * Stops the daemon.
   * @returns its exit code, or the signal that ended it.
   * @throws {Error} if it does not end within {@link PATIENCE}. This function then kills the process.
   */
  async stop(signal = 'SIGTERM') {
    this.#child.kill(signal);
    const ended = await Promise.race([this.#exit, delay(PATIENCE * 1000, 'late', { ref: false })]);
    if (ended !== 'late') return ended;
    this.#child.kill('SIGKILL');
    throw new Error(`the process did not end within ${PATIENCE} s of ${signal}`);
  }

  signal(name) {
    this.#child.kill(name);
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.#exit;
  }
}

/** Formats a value as a Python literal of the configuration. */
function literal(value) {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

/**
 * Starts a bmc-daemon with machines in memory.
 * @param tree the folder of the built clone.
 * @param options `{settings, users, folder, through}`. `users` log in with {@link PASSWORD};
 *   without users, all requests are allowed. `folder` has the files of the daemon. `through`: a command that
 *   gets the command of the daemon as its last arguments, and executes it.
 */
export async function startBmc(tree, { settings = {}, users = [], folder = makeFolder(), through = [] } = {}) {
  const all = {
    EMULATOR_FAKE_DRIVER: true,
    EMULATOR_LISTEN_IP: '127.0.0.1',
    EMULATOR_LISTEN_PORT: 0,
    EMULATOR_CONSOLE_SSH_PORT: null,
    EMULATOR_STATE_DIR: join(folder, 'state'),
    ...settings,
  };
  if (users.length > 0) {
    all.EMULATOR_AUTH_FILE ??= join(folder, 'users');
    writeFileSync(join(folder, 'users'), users.map((name) => `${name}:${PASSWORD_HASH}\n`).join(''), { mode: 0o600 });
  }
  const config = join(folder, 'bmc.conf');
  writeFileSync(
    config,
    Object.entries(all)
      .map(([key, value]) => `${key} = ${literal(value)}\n`)
      .join(''),
  );
  const bin = join(tree, 'packages/bmc-daemon/bin/bmc-daemon.js');
  return new Daemon([...through, process.execPath, bin, '--config', config], {}, '/redfish/v1').serving();
}

/**
 * Starts a model-proxy with a configuration text.
 * @param tree as for {@link startBmc}.
 * @param options `{env, through}`, as for {@link Daemon} and {@link startBmc}.
 * @returns the daemon, with `file`: the path of the configuration.
 */
export async function startProxy(tree, text, { env = {}, through = [] } = {}) {
  const file = join(makeFolder(), 'config.yaml');
  writeFileSync(file, text);
  const bin = join(tree, 'packages/model-proxy/bin/model-proxy.js');
  const command = [process.execPath, bin, '--config', file, '--host', '127.0.0.1', '--port', '0'];
  const daemon = await new Daemon(
    [...through, ...command],
    { JSON_LOGS: 'true', ...env },
    '/health/liveliness',
  ).serving();
  daemon.file = file;
  return daemon;
}

/**
 * Validates a configuration with model-proxy.
 * @returns `{status, output}`: the exit code and the printed text.
 */
export async function validate(tree, text, env = {}) {
  const file = join(makeFolder(), 'config.yaml');
  writeFileSync(file, text);
  const bin = join(tree, 'packages/model-proxy/bin/model-proxy.js');
  const daemon = new Daemon([process.execPath, bin, '--config', file, '--validate_config'], env, '');
  // Signal 0 does not end the process, so `stop` only waits for its end.
  return { status: await daemon.stop(0), output: daemon.output };
}

/**
 * Returns a configuration with one model `m` at an upstream of the attack, which has 10 s for an answer.
 * @param params more parameters of the model, each after a comma.
 * @param more more lines of the file.
 */
export const oneModel = (port, params = '', more = '') =>
  `model_list:\n  - model_name: m\n    litellm_params: {model: openai/m, api_base: "http://127.0.0.1:${port}/v1", ` +
  `api_key: ${UPSTREAM_KEY}, timeout: 10${params}}\n${more}`;
