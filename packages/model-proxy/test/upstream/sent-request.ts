/** Sends requests with the upstream client, without the proxy, and records all callbacks. */
import { runAtOnce } from '@rackless/daemon/process/slices.js';
import type { ProxyError } from '../../src/errors/proxy-error.js';
import type { Deployment } from '../../src/providers/deployment.js';
import { createUpstream, type PooledUpstream } from '../../src/upstream/send.js';
import type { SentCall, UpstreamRequest } from '../../src/upstream/upstream.js';
import { makeDeployment } from '../support/deployment.js';
import { waitFor } from '../harness/wait.js';

/** Makes a deployment of hosted_vllm at an address. TLS uses Node's roots by default. */
export function deploymentAt(apiBase: string, settings: Partial<Deployment> = {}): Deployment {
  return makeDeployment({ modelName: 'public-model', upstreamModel: 'sample-model', apiBase, ...settings });
}

/** Makes an upstream client, by default without environment variables, and records its log. */
export function upstreamFor(
  deployments: readonly Deployment[],
  environment: Readonly<Record<string, string>> = {},
): PooledUpstream & { readonly logged: string[] } {
  const logged: string[] = [];
  const note = (message: string, fields?: unknown) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  return Object.assign(createUpstream({ deployments, environment, log: { warn: note, error: note } }), { logged });
}

/** Replaces the deployments of an upstream client without a pause. */
export const reloadNow = (upstream: PooledUpstream, deployments: readonly Deployment[]): void =>
  runAtOnce(upstream.prepare(deployments))();

/** A request and its callbacks so far. */
export class SentRequest {
  status = 0;
  headers: readonly string[] = [];
  readonly chunks: Buffer[] = [];
  ended = false;
  error: ProxyError | undefined;
  /** Names of the callbacks, in order. */
  readonly callbacks: string[] = [];
  call: SentCall | undefined;

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  get text(): string {
    return this.bytes.toString();
  }

  header(name: string): string | undefined {
    const at = this.headers.findIndex((word, index) => index % 2 === 0 && word === name);
    return at === -1 ? undefined : this.headers[at + 1];
  }

  /** Waits for the end or the error. */
  waitForEnd(): Promise<this> {
    return waitFor(
      () => (this.ended || this.error !== undefined ? this : undefined),
      () => `the request has not ended; its callbacks were ${this.callbacks.join(', ')}`,
    );
  }

  /** Waits for the head of the answer. */
  waitForHead(): Promise<this> {
    return waitFor(
      () => (this.status > 0 ? this : undefined),
      () => `no head came; ${this.error?.message ?? 'no error'}`,
    );
  }

  /** Waits until this number of bytes of the answer has arrived. */
  waitForBytes(bytes: number): Promise<this> {
    return waitFor(
      () => (this.bytes.length >= bytes ? this : undefined),
      () => `only ${this.bytes.length} bytes came; ${this.error?.message ?? 'no error'}`,
    );
  }
}

/** Sends a request. Default: a POST of `{}` to `chat/completions`. */
export function send(
  upstream: PooledUpstream,
  deployment: Deployment,
  {
    body = '{}',
    ...options
  }: Partial<Omit<UpstreamRequest, 'body'>> & { body?: string | UpstreamRequest['body'] } = {},
  onData?: (chunk: Buffer) => void,
): SentRequest {
  const sent = new SentRequest();
  sent.call = upstream.send(
    {
      deployment,
      method: 'POST',
      url: `${deployment.apiBase}/chat/completions`,
      headers: ['content-type', 'application/json'],
      body: typeof body === 'string' ? [Buffer.from(body)] : body,
      timeouts: deployment.timeouts,
      ...options,
    },
    {
      onHead(status, headers) {
        sent.callbacks.push('head');
        Object.assign(sent, { status, headers });
      },
      onData(chunk) {
        sent.callbacks.push('data');
        sent.chunks.push(chunk);
        onData?.(chunk);
      },
      onEnd() {
        sent.callbacks.push('end');
        sent.ended = true;
      },
      onError(error) {
        sent.callbacks.push('error');
        sent.error = error;
      },
    },
  );
  return sent;
}

/** Sends a request, and waits for its end. */
export function sendToEnd(...args: Parameters<typeof send>): Promise<SentRequest> {
  return send(...args).waitForEnd();
}
