/** Pages in a browser may ask from anywhere, as they may with LiteLLM. Credentials of the browser's own are not allowed: keys are in headers. */
import type { ServerResponse } from 'node:http';
import { answerHeaders, writeHead } from './answer-headers.js';
import type { Exchange } from './exchange.js';

/** Longest time in seconds for which Chromium believes an answer is 7200; LiteLLM's is ten minutes. */
const MAX_AGE_S = '600';

/**
 * Answers OPTIONS: what a browser asks before it sends a request of another origin, and what anybody else may ask.
 * @param allow methods of the path: `POST`.
 * @see https://fetch.spec.whatwg.org/#cors-preflight-fetch
 */
export function answerOptions(exchange: Exchange, allow: string): void {
  const { request, response } = exchange;
  const headers = answerHeaders(exchange, null);
  headers.push('allow', `${allow}, OPTIONS`);
  const method = request.headers['access-control-request-method'];
  if (request.headers.origin !== undefined && method !== undefined) {
    const wanted = request.headers['access-control-request-headers'];
    headers.push('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
    if (wanted !== undefined) headers.push('access-control-allow-headers', wanted);
    headers.push('access-control-max-age', MAX_AGE_S, 'vary', 'access-control-request-headers');
  }
  end(response, headers);
}

function end(response: ServerResponse, headers: string[]): void {
  writeHead(response, 204, headers);
  response.end();
}
