/** A group of workers with a scripted upstream, for one test. */
import { afterEach, beforeEach } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, Agent, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { daemonFixture, LOCAL, type DaemonFixture } from '../daemon/fixture.js';
import { call, type Answer } from '../harness/call.js';
import type { ProxyProcess } from '../harness/process.js';
import { waitFor } from '../harness/wait.js';

export const MASTER = 'sk-master-0123456789';
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const answer = JSON.stringify({ id: 'x', object: 'chat.completion', model: 'm', choices: [], usage });

/** The answer to a request on a connection. */
export interface ConnectionAnswer {
  readonly status: number;
  readonly text: string;
}

/** A connection that stays open, so that all its requests go to the same worker. */
export interface Connection {
  chat(key: string, content?: string): Promise<ConnectionAnswer>;
  get(path: string, key?: string): Promise<ConnectionAnswer>;
  close(): void;
}

/** A running group. */
export interface Group {
  readonly process: ProxyProcess;
  readonly url: string;
  /** Process ids of the workers. */
  workers(): readonly number[];
  /** Opens a connection to each of the workers. @param count number of workers. */
  connectToAll(count: number): Promise<readonly Connection[]>;
  /** Sends a chat request on a new connection. @returns the status of the answer. */
  chat(key: string, content?: string): Promise<number>;
  /** Sends a management request with the master key. */
  manage(method: string, path: string, body?: object): Promise<Answer>;
  /** Creates a key. @returns the key. */
  createKey(settings?: object): Promise<string>;
}

/** Starts groups of a test, and controls their upstream. */
export interface GroupFixture extends DaemonFixture {
  /** The unsent answers to requests with the text `wait`. */
  readonly heldAnswers: ServerResponse[];
  /** Answers requests without the text `wait` with this status from now on; null: with 200. */
  readonly failWith: (status: number | null) => void;
  /** Number of requests at the upstream. */
  readonly requestCount: () => number;
  /** Returns a configuration with the upstream. @param general settings, by default a store. @param more blocks. */
  readonly configuration: (general?: object, more?: object) => string;
  /** Completes a held answer. */
  readonly complete: (response: ServerResponse) => void;
  readonly startGroup: (config: string, args?: readonly string[]) => Promise<Group>;
}

/** Makes the fixture. Call this at the top of a suite. */
export function groupFixture(): GroupFixture {
  const daemon = daemonFixture();
  const heldAnswers: ServerResponse[] = [];
  let upstream: Server;
  let status: number | null = null;
  let requestCount = 0;
  beforeEach(async () => {
    heldAnswers.length = 0;
    status = null;
    requestCount = 0;
    upstream = createServer((received, response) => {
      let body = '';
      received.on('data', (chunk: Buffer) => (body += chunk.toString()));
      received.on('end', () => {
        requestCount += 1;
        if (body.includes('wait')) heldAnswers.push(response);
        else if (status !== null) response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
        else complete(response);
      });
    }).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
  });
  afterEach(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const complete = (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  return {
    ...daemon,
    heldAnswers,
    requestCount: () => requestCount,
    complete,
    failWith: (next) => void (status = next),
    configuration(general = { store: 'state' }, more = {}) {
      const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
      return JSON.stringify({
        model_list: [
          {
            model_name: 'm',
            litellm_params: { model: 'hosted_vllm/m', api_base: `http://127.0.0.1:${port}/v1` },
            model_info: { id: 'first', input_cost_per_token: 0.001, output_cost_per_token: 0 },
          },
        ],
        litellm_settings: { num_retries: 0 },
        general_settings: { master_key: MASTER, ...general },
        ...more,
      });
    },
    async startGroup(config, args = ['--num_workers', '2']) {
      const process = daemon.start(['--config', daemon.write('config.yaml', config), ...LOCAL, ...args]);
      return groupOf(process, await process.address());
    },
  };
}

function groupOf(process: ProxyProcess, url: string): Group {
  const manage = (method: string, path: string, body?: object) =>
    call(url + path, {
      method,
      headers: { authorization: `Bearer ${MASTER}` },
      ...(body === undefined ? {} : { body }),
    });
  return {
    process,
    url,
    manage,
    workers: () => childrenOf(process),
    chat: async (key, content = 'Hello') =>
      (
        await call(`${url}/v1/chat/completions`, {
          headers: { authorization: `Bearer ${key}` },
          body: { model: 'm', messages: [{ role: 'user', content }] },
        })
      ).status,
    async createKey(settings = {}) {
      const made = await manage('POST', '/key/generate', settings);
      return (made.json() as { readonly key: string }).key; // the answer has the key, as LiteLLM's
    },
    connectToAll: (count) => connectToAll(process, url, count),
  };
}

/** Returns the ids of the processes that a process has started. */
export function childrenOf({ pid }: ProxyProcess): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

let lastId = 0;

/**
 * Opens connections until each worker has one, and closes the others. The log shows the worker of a request.
 * @returns the connections in the order of the workers' numbers.
 */
async function connectToAll(process: ProxyProcess, url: string, count: number): Promise<readonly Connection[]> {
  const found = new Map<string, Connection>();
  await waitFor(
    async () => {
      const connection = connectionTo(url);
      const id = `connection-${(lastId += 1)}`;
      await connection.get('/health/liveliness', undefined, id);
      const [, worker = ''] = await process.waitForOutput(new RegExp(`"id":"${id}".*"worker":(\\d+)`));
      if (found.has(worker)) connection.close();
      else found.set(worker, connection);
      return found.size === count ? true : undefined;
    },
    () => `connections to ${found.size} of ${count} workers`,
  );
  return [...found].sort(([left], [right]) => Number(left) - Number(right)).map(([, connection]) => connection);
}

function connectionTo(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body = '',
  ): Promise<ConnectionAnswer> =>
    new Promise((resolve, reject) => {
      const sent = request(url + path, { method, agent, headers }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  return {
    chat: (key: string, content = 'Hello') =>
      send(
        'POST',
        '/v1/chat/completions',
        { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
      ),
    get: (path: string, key?: string, id?: string) =>
      send('GET', path, {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(id === undefined ? {} : { 'x-request-id': id }),
      }),
    close: () => agent.destroy(),
  };
}
