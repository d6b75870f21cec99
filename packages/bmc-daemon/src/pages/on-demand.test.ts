import { execFileSync } from 'node:child_process';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from '../redfish/pipeline.js';
import { pagesOnDemand } from './on-demand.js';

describe('the pages', () => {
  const pages = pagesOnDemand({
    driver: {
      name: 'test',
      ping: () => Promise.resolve(),
      listSystems: () => Promise.resolve([]),
      getSystem: () => Promise.reject(new Error()),
    },
    driverFor: () => Promise.reject(new Error()) as never, // /healthz does not call it
    metrics: { expose: () => Promise.resolve({ contentType: 'text/plain', text: '' }) },
    authenticate: () => Promise.reject(new Error()),
    version: '1',
  });
  let onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => onRequest(request, response));
  beforeEach(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  /** Sends a request, and returns what the pages report about it. */
  async function ask({ leaves }: { readonly leaves: boolean }): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      onRequest = (request, response) => {
        const answer = () => void pages(request, response, 'id').then(resolve, reject);
        if (leaves) {
          response.once('close', answer);
          request.socket.destroy();
        } else answer();
      };
      // The address of a server that listens on TCP.
      const { port } = server.address() as AddressInfo;
      get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (answer) => answer.resume()).on(
        'error',
        () => undefined,
      );
    });
  }

  it('end the request of a client that has left, and answer the next client', async () => {
    expect(await ask({ leaves: true })).toEqual({ route: 'unmatched', status: 200, user: null });
    expect(await ask({ leaves: false })).toEqual({ route: '/healthz', status: 200, user: null });
  }, 120_000);

  it('are not loaded by the start of the daemon', () => {
    const code = `
      import { createRequire } from 'node:module';
      await import('${new URL('../../dist/daemon.js', import.meta.url).href}');
      const files = Object.keys(createRequire('/').cache);
      console.log(files.filter((file) => file.includes('/node_modules/express/')).length);`;
    const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
    expect(Number(loaded)).toBe(0);
  });
});
