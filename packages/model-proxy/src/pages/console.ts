/** Serves the files of the web console at `/ui`. They contain no data of the proxy, so they need no key. */
import { openConsole } from '@rackless/console/files.js';
import { noSuchPath } from '../errors/path.js';
import { answerHeaders, writeHead } from '../exchange/answer/answer-headers.js';
import { refuse } from '../exchange/answer/refusal.js';
import type { Exchange } from '../exchange/exchange.js';

/** Path of the console in metrics and in `/routes`. */
export const CONSOLE_PATH = '/ui';

/** Returns whether a path belongs to the console. @param path result of `plainPath`. */
export function isConsolePath(path: string): boolean {
  return path === CONSOLE_PATH || path.startsWith(`${CONSOLE_PATH}/`);
}

/** The files of the console. They are read at the first request. */
let files: ReturnType<typeof openConsole> | undefined;

/** Answers a GET or HEAD request for a path of the console; 404 without a file. @param path result of `plainPath`. */
export function showConsole(exchange: Exchange, path: string): void {
  files ??= openConsole('gateway');
  const { request, response } = exchange;
  const { headers, method = '' } = request;
  const [url = ''] = (request.url ?? '').split(/[?#]/);
  const answer = files({
    // `plainPath` removes the slash at the end, which distinguishes the page from its redirect.
    path: path === CONSOLE_PATH && url.endsWith('/') ? `${path}/` : path,
    acceptEncoding: headers['accept-encoding'],
    ifNoneMatch: headers['if-none-match'],
  });
  if (answer === null) {
    refuse(exchange, noSuchPath(method, path));
    return;
  }
  const { status, body } = answer;
  const sent = [...answerHeaders(exchange, null), ...Object.entries(answer.headers).flat()];
  // A 304 has no length: the length would be that of the file (RFC 9110 §8.6).
  if (status !== 304) sent.push('content-length', String(body.length));
  writeHead(response, status, sent);
  response.end(method === 'HEAD' ? undefined : body);
}
