import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { call, open } from '../harness/call.js';
import { PUBLIC_MODEL, sampleConfig } from '../harness/proxy.js';
import { event, type Step } from '../harness/script.js';
import { TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL, messages, NOWHERE } from './fixture.js';

const { at, start, write } = daemonFixture();
let upstream: TestUpstream;
beforeAll(async () => {
  upstream = await TestUpstream.start();
});
afterAll(() => upstream.close());

/** Starts a stream through the proxy. The upstream sends the second event only when the test opens the gate. */
async function beginStream(url: string, gate: string) {
  const script: readonly Step[] = [event('{"choices":[]}'), { gate }, event('{"choices":[]}'), { end: true }];
  const answer = await open(`${url}/v1/chat/completions`, {
    body: { model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'Hello' }], stream: true, script },
  });
  expect(answer.status).toBe(200);
  return answer;
}

/** Sends a GET, and waits for the whole answer. The agent then keeps the idle connection open. */
function ask(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => resolve(response));
    }).once('error', reject);
  });
}

/**
 * Opens a connection, and sends an incomplete request, so that the connection is not idle.
 * @returns a function that sends the rest, waits until the proxy closes the connection, and returns the answer.
 */
async function beginRequest(url: string, path: string): Promise<() => Promise<string>> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n`);
  return async () => {
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write('\r\n');
    await once(socket, 'close');
    return answer;
  };
}

describe('a proxy that stops at a signal', () => {
  it('answers 503 at /health/readiness on open connections, lets the stream end, and exits with 0', async () => {
    const proxy = start(['--config', write('config.yaml', sampleConfig(upstream)), ...LOCAL]);
    const url = await proxy.address();
    const stream = await beginStream(url, 'readiness');
    const finish = await beginRequest(url, '/health/readiness');
    // After the answer to a complete request, the proxy has read the incomplete head.
    expect((await call(`${url}/health/readiness`, { method: 'GET' })).status).toBe(200);
    proxy.signal('SIGTERM');
    await proxy.waitForOutput(/SIGTERM: stopping/);
    const answer = await finish();
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toMatch(/^connection: close\r$/im);
    await expect(call(`${url}/health/readiness`, { method: 'GET' })).rejects.toThrow('ECONNREFUSED');
    upstream.gates.open('readiness');
    expect(await stream.ended).toBe('whole');
    expect(await proxy.waitForExit()).toBe(0);
  });

  it('still accepts connections during --drain_delay, but answers 503 at /health/readiness', async () => {
    const proxy = start(['--config', write('config.yaml', NOWHERE), ...LOCAL, '--drain_delay', '600']);
    const url = await proxy.address();
    proxy.signal('SIGTERM');
    await proxy.waitForOutput(/SIGTERM: stopping/);
    // `call` opens a new connection for each request.
    const readiness = await call(`${url}/health/readiness`, { method: 'GET' });
    expect([readiness.status, readiness.headers.connection]).toEqual([503, 'close']);
    expect((await call(`${url}/v1/models`, { method: 'GET' })).status).toBe(200);
    proxy.signal('SIGTERM');
    expect(await proxy.waitForExit()).toBe(1);
  });

  it('exits with 0 after --drain_delay', async () => {
    const proxy = start(['--config', write('config.yaml', NOWHERE), ...LOCAL, '--drain_delay', '0.2']);
    await proxy.address();
    proxy.signal('SIGTERM');
    expect(await proxy.waitForExit()).toBe(0);
  });

  it('cuts off requests after --drain_timeout, also at the upstream, and exits with 0', async () => {
    const file = write('config.yaml', sampleConfig(upstream));
    const proxy = start(['--config', file, ...LOCAL, '--drain_timeout', '0.3']);
    const url = await proxy.address();
    const stream = await beginStream(url, 'never-deadline');
    const received = upstream.last;
    proxy.signal('SIGTERM');
    expect(await stream.ended).toBe('cut');
    expect(await upstream.ended(received)).toBe('aborted');
    expect(await proxy.waitForExit()).toBe(0);
  });

  it('exits with 1 at once at a second SIGTERM', async () => {
    const proxy = start(['--config', write('config.yaml', sampleConfig(upstream)), ...LOCAL]);
    const stream = await beginStream(await proxy.address(), 'never-second');
    proxy.signal('SIGTERM');
    await proxy.waitForOutput(/SIGTERM: stopping/);
    proxy.signal('SIGTERM');
    expect(await stream.ended).toBe('cut');
    expect(await proxy.waitForExit()).toBe(1);
    expect(messages(proxy.output, 'warn')).toEqual(['SIGTERM again: exiting immediately']);
  });

  it('exits with 0, also at SIGINT and although a client has an idle connection', async () => {
    const proxy = start(['--config', write('config.yaml', NOWHERE), ...LOCAL]);
    const agent = new Agent({ keepAlive: true });
    await ask(`${await proxy.address()}/health/liveliness`, agent);
    proxy.signal('SIGINT');
    expect(await proxy.waitForExit()).toBe(0);
    agent.destroy();
  });
});

describe('systemd', () => {
  it('is notified when the proxy is ready, reloads and stops', async () => {
    const [socket, received] = [at('notify'), at('received')];
    // Node has no Unix datagram sockets, so a Python program appends the notifications to the file `received`.
    const program =
      'import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nwhile True:\n  open(sys.argv[2],"ab").write(s.recv(65536)+b"\\n--\\n")\n';
    const listener = execFile('/usr/bin/python3', ['-u', '-c', program, socket, received]);
    try {
      await waitFor(
        () => (existsSync(socket) ? true : undefined),
        () => 'the socket does not exist',
      );
      const proxy = start(['--config', write('config.yaml', NOWHERE), ...LOCAL], { env: { NOTIFY_SOCKET: socket } });
      const url = await proxy.address();
      const text = () => (existsSync(received) ? readFileSync(received, 'utf8') : '');
      const waitForNotification = (pattern: RegExp) =>
        waitFor(
          () => (pattern.test(text()) ? true : undefined),
          () => `systemd got no ${String(pattern)}: ${text()}`,
        );
      await waitForNotification(new RegExp(`READY=1\\nSTATUS=serving at ${url}`));
      proxy.signal('SIGHUP');
      await waitForNotification(/RELOADING=1\nMONOTONIC_USEC=\d+\n[^]*READY=1\n/);
      proxy.signal('SIGTERM');
      await waitForNotification(/STOPPING=1/);
      expect(await proxy.waitForExit()).toBe(0);
    } finally {
      listener.kill('SIGKILL');
    }
  });
});
