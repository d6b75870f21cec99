/**
 * Measures TLS to the upstream with a private CA, against plain HTTP to the same server, in
 * one process.
 */
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from './bodies.js';
import { createAuthority } from '../sample-upstream/certificates.js';
import { loadTarget, type LoadResult } from './load.js';
import { fixedAnswer, startNginx } from './peers/nginx.js';
import { LOAD_CORE } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import { warmUp, type Bench } from './rounds.js';
import { startModelProxy } from './targets.js';

const CONNECTIONS = 64;
/**
 * Shares of a turn between which no new connection may open: before them, wrk's connections open, and
 * after them they close.
 */
const BEGUN = 0.3;
const ENDED = 0.9;
const models = { plain: PUBLIC_MODEL, tls: `${PUBLIC_MODEL}-tls` };

export async function benchTls({ folder, rounds, seconds, print }: Bench): Promise<readonly Figure[]> {
  const authority = await createAuthority(folder);
  const { certFile, keyFile } = await authority.issue('upstream', { hosts: ['localhost', '127.0.0.1'] });
  const location = fixedAnswer(answer1KB);
  // The third port counts connections. Each connection of the second port is a handshake.
  const upstream = await startNginx(LOAD_CORE, join(folder, 'upstream'), 3, ([plain, tls, status]) => {
    return `
      server { listen 127.0.0.1:${plain}; ${location} }
      server { listen 127.0.0.1:${tls} ssl; ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ${location} }
      server { listen 127.0.0.1:${status}; location / { stub_status; } }`;
  });
  const [plain = 0, tls = 0, status = 0] = upstream.ports;
  const proxy = await startModelProxy(folder, {
    [models.plain]: { apiBase: `http://127.0.0.1:${plain}/v1` },
    [models.tls]: { apiBase: `https://127.0.0.1:${tls}/v1`, caFile: authority.caFile },
  });
  try {
    const requestOf = (kind: keyof typeof models) => ({
      body: request1KB.replace(`"${PUBLIC_MODEL}"`, `"${models[kind]}"`),
      connections: CONNECTIONS,
    });
    const results: { plain: LoadResult[]; tls: LoadResult[] } = { plain: [], tls: [] };
    let handshakes = 0;
    for (const kind of ['plain', 'tls'] as const) await warmUp(folder, proxy, requestOf(kind));
    for (let round = 0; round < rounds; round += 1) {
      for (const kind of ['plain', 'tls'] as const) {
        const loading = loadTarget(folder, proxy, { ...requestOf(kind), seconds });
        const [begun, ended] = await Promise.all([
          connectionsAt(status, seconds * BEGUN),
          connectionsAt(status, seconds * ENDED),
        ]);
        results[kind].push(await loading);
        // The second request for the status was a connection, too.
        if (kind === 'tls') handshakes += ended - begun - 1;
      }
    }
    const costs = { plain: results.plain.map(({ cpuUs }) => cpuUs), tls: results.tls.map(({ cpuUs }) => cpuUs) };
    const rows = (['plain', 'tls'] as const).map((kind) => [
      kind,
      median(results[kind].map(({ perSecond }) => perSecond)).toFixed(0),
      short(median(costs[kind])),
      costs[kind].map(short).join(' '),
    ]);
    print(
      `1 KB, ${CONNECTIONS} connections, by upstream\n\n${table(['upstream', 'requests/s', 'CPU, µs', 'rounds, µs'], rows)}`,
    );
    const common = { unit: '', better: 'lower' } as const;
    return [
      {
        ...common,
        what: 'TLS to the upstream: CPU time relative to plain HTTP',
        value: medianRatio(costs.tls, costs.plain),
        must: 1.5,
        aim: 1.4,
      },
      { ...common, what: 'TLS to the upstream: new handshakes under load', value: handshakes, must: 0, aim: null },
    ];
  } finally {
    await Promise.all([upstream.stop(), proxy.stop()]);
  }
}

async function connectionsAt(statusPort: number, seconds: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return connectionsOf(statusPort);
}

/**
 * Returns the number of connections that nginx accepted.
 * @see https://nginx.org/en/docs/http/ngx_http_stub_status_module.html
 */
async function connectionsOf(statusPort: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${statusPort}/`, { headers: { connection: 'close' } });
  return Number(/\n\s*(\d+)/.exec(await answer.text())?.[1]);
}
