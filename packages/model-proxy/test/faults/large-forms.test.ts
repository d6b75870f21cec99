/**
 * Sends a form with a file of 300 MB through a proxy in its own process. The proxy must not store the file in memory.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxyProcess } from '../harness/process.js';

const PIECE = Buffer.alloc(1_000_000, 7);
const PIECES = 300;

describe('a form of 300 MB', () => {
  const upstream = createServer((incoming, response) => {
    let bytes = 0;
    incoming.on('data', (piece: Buffer) => (bytes += piece.length));
    incoming.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ text: `${bytes} bytes` }));
    });
  });
  let folder: string;
  let proxy: ProxyProcess;
  let url: string;
  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
    folder = mkdtempSync(join(tmpdir(), 'rackless-large-'));
    const file = join(folder, 'config.yaml');
    writeFileSync(
      file,
      `model_list:\n  - model_name: ears\n    litellm_params: {model: hosted_vllm/ears, api_base: "http://127.0.0.1:${port}/v1"}\n` +
        'general_settings: {max_request_size_mb: 400}\n',
    );
    proxy = new ProxyProcess(['--config', file, '--host', '127.0.0.1', '--port', '0']);
    url = await proxy.address();
  });
  afterAll(async () => {
    await proxy.dispose();
    upstream.close();
    rmSync(folder, { recursive: true });
  });

  it.each(['content-length', 'transfer-encoding'])(
    'reaches the upstream without being stored in memory if the model is before the file (%s)',
    async (framing) => {
      const start =
        '--xx\r\nContent-Disposition: form-data; name="model"\r\n\r\nears\r\n' +
        '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
      const end = '\r\n--xx--\r\n';
      const length = start.length + PIECES * PIECE.length + end.length;
      const before = peakMegabytes(proxy);
      const sent = request(`${url}/v1/audio/transcriptions`, {
        method: 'POST',
        agent: false,
        headers: {
          'content-type': 'multipart/form-data; boundary=xx',
          ...(framing === 'content-length' ? { 'content-length': String(length) } : { 'transfer-encoding': 'chunked' }),
        },
      });
      Readable.from([start, ...Array.from({ length: PIECES }, () => PIECE), end]).pipe(sent);
      const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer>]; // Node's event has this argument.
      let text = '';
      for await (const piece of response) text += piece.toString();
      expect(text).toBe(`{"text":"${length} bytes"}`);
      // The proxy stores a few chunks at a time. The limit leaves room for memory that is not
      // collected yet.
      expect(peakMegabytes(proxy) - before).toBeLessThan(100);
    },
  );
});

/** Returns the maximum memory that a process has used so far, in MiB. */
function peakMegabytes({ pid }: ProxyProcess): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
