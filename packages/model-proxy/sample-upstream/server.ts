/**
 * A model server without a model: HTTPS with a private authority, a Bearer check, and the routes of
 * OpenAI's API below `/v1`. `scripts/start proxy` and the tests put it behind the proxy.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  chatChunks,
  chatCompletion,
  embeddings,
  modelList,
  moderation,
  rerank,
  response as responseObject,
  responseEvents,
  textChunks,
  textCompletion,
  type AnswerContext,
} from './answers.js';
import type { CertificateFiles } from './certificates.js';
import { parseObject, type JsonObject } from './requests.js';

/** A complete request. */
export interface Exchange {
  /** The requested path with its query: `/v1/chat/completions`. */
  readonly url: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  /** The body as a JSON object; null if it is not one. */
  readonly json: JsonObject | null;
}

export interface SampleUpstreamOptions {
  /** Null for plain HTTP. */
  readonly tls: CertificateFiles | null;
  /** Path of the authority for client certificates, which are then required. */
  readonly clientCaFile?: string;
  /** The required Bearer key; null: none. */
  readonly apiKey: string | null;
  readonly host?: string;
  /** 0 chooses a free port. */
  readonly port?: number;
  /** Names of the models. Others get 404. */
  readonly models?: readonly string[];
  /** The name of the model in answers. Default: the name in the request. */
  readonly reportedModel?: (name: string) => string;
  /** Time between two tokens of a stream, in milliseconds. */
  readonly tokenMs?: number;
  /** Called with each request after its head. */
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called with each accepted request. Returns true if it sent the answer itself. */
  readonly intercept?: (exchange: Exchange) => boolean | Promise<boolean>;
}

export interface SampleUpstream {
  /** `https://localhost:12345/v1`. */
  readonly apiBase: string;
  readonly port: number;
  readonly server: Server;
  /** Closes the server and all connections at once. */
  close(): Promise<void>;
}

/** The default model. */
export const SAMPLE_MODEL = 'sample-model';

interface Route {
  readonly answer: (request: JsonObject, context: AnswerContext) => JsonObject;
  readonly events?: (request: JsonObject, context: AnswerContext) => readonly JsonObject[];
  /** A required member of the request. */
  readonly required: string;
  /** The text that ends a stream; empty: the last event ends the stream, or the route has no streams. */
  readonly done: string;
}

const DONE = 'data: [DONE]\n\n';
const routes: Readonly<Record<string, Route>> = {
  'chat/completions': { answer: chatCompletion, events: chatChunks, required: 'messages', done: DONE },
  completions: { answer: textCompletion, events: textChunks, required: 'prompt', done: DONE },
  responses: { answer: responseObject, events: responseEvents, required: 'input', done: '' },
  embeddings: { answer: embeddings, required: 'input', done: '' },
  moderations: { answer: moderation, required: 'input', done: '' },
  rerank: { answer: rerank, required: 'query', done: '' },
};

/**
 * Starts a sample upstream.
 * @throws {Error} if the port is in use, or the certificate is unreadable.
 */
export async function startSampleUpstream(options: SampleUpstreamOptions): Promise<SampleUpstream> {
  const { tls, clientCaFile, host = '127.0.0.1', port = 0 } = options;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    options.onRequest?.(request, response);
    // `intercept` has failed, for example because the client has disconnected.
    answer(options, request, response).catch((error: unknown) => response.destroy(error as Error));
  };
  const server =
    tls === null
      ? createHttpServer(listener)
      : createHttpsServer(
          {
            cert: readFileSync(tls.certFile),
            key: readFileSync(tls.keyFile),
            ...(clientCaFile === undefined
              ? {}
              : { ca: readFileSync(clientCaFile), requestCert: true, rejectUnauthorized: true }),
          },
          listener,
        );
  // Longer than any client keeps an idle connection, so that the server never closes first.
  server.keepAliveTimeout = 60_000;
  server.listen(port, host);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port; // the address of a TCP server is an object
  return {
    apiBase: `${tls === null ? 'http' : 'https'}://${host === '127.0.0.1' ? 'localhost' : host}:${bound}/v1`,
    port: bound,
    server,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  options: SampleUpstreamOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = request.url ?? '';
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set: these are buffers
  } catch {
    return; // the client has gone
  }
  const body = Buffer.concat(chunks);
  const exchange: Exchange = { url, request, response, body, json: parseObject(body) };
  const { apiKey } = options;
  if (apiKey !== null && request.headers.authorization !== `Bearer ${apiKey}`) {
    send(response, refusal(401, 'Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'));
    return;
  }
  if ((await options.intercept?.(exchange)) === true) return;
  const reply = replyTo(options, exchange);
  if ('events' in reply) await stream(response, reply, options.tokenMs ?? 0);
  else send(response, reply);
}

interface WholeReply {
  readonly status: number;
  readonly value: JsonObject;
}

interface StreamedReply {
  readonly events: readonly JsonObject[];
  readonly done: string;
}

function replyTo(options: SampleUpstreamOptions, { url, request, body, json }: Exchange): WholeReply | StreamedReply {
  const path = /^\/v1\/([^?]*)/.exec(url)?.[1] ?? '';
  const names = options.models ?? [SAMPLE_MODEL];
  const created = Math.floor(Date.now() / 1000);
  if (request.method === 'GET' && path === 'models') return { status: 200, value: modelList(names, created) };
  if (request.method === 'POST' && path === 'audio/transcriptions') {
    return { status: 200, value: { text: `You sent ${body.length} bytes.` } };
  }
  const route = routes[path];
  if (route === undefined || request.method !== 'POST') {
    return refusal(404, `Not Found: ${request.method ?? ''} ${url}`, 'NotFoundError', '404');
  }
  if (json === null) return refusal(400, 'The body is no JSON object.', 'BadRequestError', '400');
  const { model } = json;
  if (typeof model !== 'string' || !names.includes(model)) {
    return refusal(404, `The model \`${String(model)}\` does not exist.`, 'NotFoundError', 'model_not_found');
  }
  if (json[route.required] === undefined) {
    return refusal(400, `Missing required parameter: '${route.required}'.`, 'BadRequestError', '400');
  }
  const context = { model: options.reportedModel?.(model) ?? model, created };
  const { answer: whole, events, done } = route;
  if (json['stream'] === true && events !== undefined) return { events: events(json, context), done };
  return { status: 200, value: whole(json, context) };
}

async function stream(response: ServerResponse, { events, done }: StreamedReply, tokenMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const event of events) {
    if (response.destroyed) return;
    const { type } = event;
    response.write(`${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
    if (tokenMs > 0) await delay(tokenMs);
  }
  response.end(done);
}

function send(response: ServerResponse, { status, value }: WholeReply): void {
  const text = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
}

function refusal(status: number, message: string, type: string, code: string): WholeReply {
  return { status, value: { error: { message, type, param: null, code } } };
}
