import { execFileSync } from 'node:child_process';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RequestOutcome } from '../redfish/pipeline.js';
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
  async function ask({ leaves }: { readonly leaves: boolean }): Promise<RequestOutcome> {
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

  it('answer 503 with the advice to restart after an upgrade has replaced their files', () => {
    const hook = `export const resolve = (name, context, next) => name === './routes.js'
      ? Promise.reject(Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND' }))
      : next(name, context);`;
    const code = `
      import { createServer } from 'node:http';
      import { register } from 'node:module';
      register('data:text/javascript,${encodeURIComponent(hook).replaceAll("'", '%27')}');
      const { pagesOnDemand } = await import('${new URL('../../dist/pages/on-demand.js', import.meta.url).href}');
      const pages = pagesOnDemand({});
      const outcomes = [];
      const server = createServer(async (request, response) => outcomes.push(await pages(request, response, 'id')));
      server.listen(0, '127.0.0.1', async () => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port + '/healthz');
        const [{ status, error }] = outcomes;
        console.log(JSON.stringify([answer.status, await answer.text(), status, error.message]));
        server.close();
      });`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
    const advice = 'the package has changed since the start of the daemon, so restart the daemon';
    expect(JSON.parse(output)).toEqual([503, `bmc-daemon: ${advice}\n`, 503, `loading the pages: ${advice}`]);
  });

  it('do not load Express together with the module of the daemon', () => {
    const code = `
      import { createRequire } from 'node:module';
      await import('${new URL('../../dist/daemon.js', import.meta.url).href}');
      const files = Object.keys(createRequire('/').cache);
      console.log(files.filter((file) => file.includes('/node_modules/express/')).length);`;
    const loaded = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' });
    expect(Number(loaded)).toBe(0);
  });
});
