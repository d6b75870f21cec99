/** Runs independent clients as programs: sushy (by sushy_session.py), redfishtool, curl. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Served } from './served.js';

const run = promisify(execFile);

/**
 * Returns the environment of a client: a few variables, and `more`. Variables such as
 * REQUESTS_CA_BUNDLE are missing, because they override `verify=False`.
 */
export function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], LANG: 'C.UTF-8', NO_PROXY: '*', ...more };
}

/**
 * Runs a program.
 * @returns its standard output.
 * @throws {Error} with the complete output if it fails or runs for more than 240 s.
 */
export async function output(program: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return (await run(program, [...words], { env, timeout: 240_000 })).stdout;
  } catch (error) {
    // `execFile` rejects with an Error that has both outputs.
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${words.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}

/**
 * Copies sushy below `folder`, and returns the folder for PYTHONPATH. Debian's package lacks
 * `standard_registries`, so that every registry lookup fails. The copy has that folder, empty, like
 * the upstream package.
 */
export async function wholeSushy(folder: string): Promise<string> {
  const where = await output('/usr/bin/python3', ['-c', 'import sushy; print(sushy.__file__)'], environment());
  const copy = join(folder, 'python', 'sushy');
  await cp(dirname(where.trim()), copy, { recursive: true });
  await mkdir(join(copy, 'standard_registries'), { recursive: true });
  return dirname(copy);
}

/**
 * Runs sushy_session.py.
 * @param booted called after sushy has started the machine, and again after sushy has restarted it.
 *   sushy continues when the promise resolves.
 * @returns what sushy read, step by step.
 * @throws the error of `booted`, if any; otherwise, if the script fails, an error with its error output.
 */
export async function sushySession(
  served: Served,
  pythonPath: string,
  system: string,
  image: URL,
  booted: () => Promise<unknown> = () => Promise.resolve(),
): Promise<unknown> {
  const { credentials } = served;
  const words = [join(import.meta.dirname, 'sushy_session.py'), `${served.url}/redfish/v1/`, system, image.href];
  if (credentials !== undefined) words.push(credentials.user, credentials.password);
  const python = spawn('/usr/bin/python3', words, {
    env: environment({ PYTHONPATH: pythonPath }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(python, 'close');
  let errors = '';
  python.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  let last = '';
  try {
    for await (const line of createInterface({ input: python.stdout })) {
      last = line;
      if (line !== 'booted') continue;
      await booted();
      python.stdin.write('\n');
    }
  } finally {
    // If `booted` failed, the script still waits for a line. The end of its input lets it continue.
    python.stdin.end();
    await ended;
  }
  if (python.exitCode !== 0) throw new Error(`sushy_session.py: ${errors}`);
  return JSON.parse(last) as unknown;
}

/** Runs redfishtool. Returns its output as JSON; undefined if it prints nothing. @throws {Error} if it fails. */
export async function redfishtool(served: Served, ...words: readonly string[]): Promise<unknown> {
  const { credentials, host } = served;
  // By default, redfishtool uses HTTPS only for some requests, so `-S` selects the scheme.
  const login =
    credentials === undefined
      ? ['-S', 'IfSendingCredentials', '-A', 'None']
      : ['-S', 'Always', '-A', 'Basic', '-u', credentials.user, '-p', credentials.password];
  const text = await output('redfishtool', [...login, '-r', host, ...words], environment());
  return text.trim() === '' ? undefined : (JSON.parse(text) as unknown);
}

/**
 * Runs curl with the credentials, if any, in the URL (row RF-75). Does not verify the certificate.
 * @returns the status and the JSON of the body; undefined for an empty body.
 */
export async function curl(
  served: Served,
  path: string,
  ...words: readonly string[]
): Promise<{ status: number; body: unknown }> {
  const address = new URL(path, served.url);
  if (served.credentials !== undefined) {
    address.username = encodeURIComponent(served.credentials.user);
    address.password = encodeURIComponent(served.credentials.password);
  }
  const text = await output('curl', ['-sS', '-k', '-w', '\n%{http_code}', ...words, address.href], environment());
  const end = text.lastIndexOf('\n');
  const body = text.slice(0, end);
  return { status: Number(text.slice(end + 1)), body: body === '' ? undefined : (JSON.parse(body) as unknown) };
}
