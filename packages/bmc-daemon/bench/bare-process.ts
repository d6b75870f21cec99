/** Starts a bare `node:http` server, with which benchmarks compare the daemon. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const barePath = fileURLToPath(new URL('bare-server.js', import.meta.url));

/** An answer with its headers. */
export interface WholeAnswer {
  readonly status: number;
  /** Each name, followed by its value, as the server sent them. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** A running bare server. */
export interface BareServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Sends a GET. Returns the answer with its headers and its body. */
export function fetchWhole(url: string, headers: Readonly<Record<string, string>> = {}): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.rawHeaders, body }));
    }).on('error', reject);
  });
}

/**
 * Starts a bare server that answers each request with 200, and with the headers and the body of `answer`.
 * @param folder the folder for a file with the answer.
 */
export async function startBareServer(folder: string, answer: WholeAnswer): Promise<BareServer> {
  // The bare server's node:http adds the headers of this pattern by itself, so the file must not contain them.
  const headers = answer.headers.filter(
    (_, index, all) => !/^(date|connection|keep-alive|transfer-encoding)$/i.test(all[index - (index % 2)] ?? ''),
  );
  const file = join(folder, 'bare-answer.json');
  await writeFile(file, JSON.stringify({ headers, body: answer.body }));
  const child = spawn(process.execPath, [barePath, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]; // The server prints only its port.
  return {
    url: `http://127.0.0.1:${chunk.toString().trim()}`,
    pid: child.pid ?? NaN,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
