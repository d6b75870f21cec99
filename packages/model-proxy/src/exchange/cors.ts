/**
 * Allows web pages of every origin to send requests, as LiteLLM does. The browser's own credentials,
 * such as cookies, are not allowed: pages send their key in a header.
 */
import type { ServerResponse } from 'node:http';
import { answerHeaders, writeHead } from './answer/answer-headers.js';
import type { Exchange } from './exchange.js';

/**
 * Seconds for which a browser caches the answer. The value is LiteLLM's; Chromium's maximum is
 * 7200.
 */
const MAX_AGE_S = '600';

/**
 * Answers OPTIONS requests: the preflight request that a browser sends before a request to another
 * origin, and OPTIONS of other clients.
 * @param allow methods of the path without OPTIONS, such as `POST`.
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
