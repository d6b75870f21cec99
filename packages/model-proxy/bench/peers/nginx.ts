/**
 * Runs nginx in a folder: the fastest proxy of the comparison, and an upstream that no proxy on
 * Node can saturate.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf, freePorts, listening, pidOf, startPinned, stop } from '../processes.js';

export interface Nginx {
  readonly ports: readonly number[];
  /** Process id of its only worker. */
  readonly workerPid: number;
  stop(): Promise<void>;
}

/**
 * Starts nginx.
 * @param servers returns the configuration for the given ports.
 * @throws {Error} if nginx does not listen after 20 s, or then has no worker within 2 s.
 */
export async function startNginx(
  core: number,
  folder: string,
  portCount: number,
  servers: (ports: readonly number[]) => string,
): Promise<Nginx> {
  const ports = await freePorts(portCount);
  await mkdir(folder, { recursive: true });
  const configuration = join(folder, 'nginx.conf');
  await writeFile(configuration, settings(folder, servers(ports)));
  const child = startPinned(
    core,
    ['nginx', '-p', folder, '-e', 'stderr', '-c', configuration],
    ['ignore', 'ignore', 'inherit'],
  );
  await Promise.all(ports.map(listening));
  return { ports, workerPid: await workerOf(child), stop: () => stop(child) };
}

/** Waits for the worker of nginx, which starts after nginx listens. @throws {Error} if it takes more than 2 s. */
async function workerOf(child: ChildProcess): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const [worker] = await childrenOf(pidOf(child));
    if (worker !== undefined) return worker;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('starting nginx: it has no worker after 2 s');
}

/** Returns settings of nginx for maximum speed: without an access log, and with high limits. */
function settings(folder: string, servers: string): string {
  const isRoot = process.getuid?.() === 0;
  const scratch = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'].map(
    (name) => `${name}_temp_path ${folder}/tmp;`,
  );
  return `
    ${isRoot ? 'user root;' : ''}
    daemon off; worker_processes 1; error_log stderr warn; pid ${folder}/nginx.pid;
    events { worker_connections 4096; }
    http {
      ${scratch.join(' ')}
      access_log off; keepalive_requests 1000000000; keepalive_timeout 3600s;
      client_max_body_size 0; client_body_buffer_size 16m;
      ${servers}
    }`;
}

/**
 * Returns a location that answers each request with the same JSON. The JSON must not contain `$`,
 * because nginx cannot escape it.
 */
export const fixedAnswer = (answer: string): string =>
  `location / { default_type application/json; return 200 '${answer.replaceAll(/[\\']/g, '\\$&')}'; }`;
