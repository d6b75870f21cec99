/**
 * Forwards model requests. A request passes these steps: authenticate the client, check the limits of the
 * client's key, wait for a place in the process, read and verify the body while it arrives. Each attempt then has
 * these steps: select the deployment, make the headers and the body for the upstream, send. The kind of the
 * upstream's answer decides how the answer goes to the client. All steps use callbacks: a promise for each chunk
 * would cost more than the work on the chunk.
 */
import { performance } from 'node:perf_hooks';
import { takeWholeBody } from '@rackless/daemon/http/shortcut/plain-request.js';
import { chunkLimitOf } from '../chunk-limit.js';
import { requestTooLarge } from '../errors/body.js';
import { ProxyError, toProxyError } from '../errors/proxy-error.js';
import type { Target } from '../endpoints/paths.js';
import { breakOff, refuse } from './answer/refusal.js';
import { Attempts } from './attempts/attempts.js';
import { modelsOf, startForModels } from './multi-model/multi-model.js';
import { requestedRetriesOf } from './client-retries.js';
import type { Exchange } from './exchange.js';
import type { RequestBody } from './request/request-body.js';
import { admitClient, budgetFault } from './admission.js';
import { announcedBody } from './request/request-head.js';
import { awaitsUser } from './request/required-members.js';
import { clientTimeoutsOf, requestTimeouts, shownTimeout } from './request-timeouts.js';
import { watchUpload } from './stalled-uploads.js';

/**
 * Forwards a model request (a POST), and sends the upstream's answer to the client. Never throws: an
 * error is answered and stored in `exchange.error`. The exchange ends when its response closes.
 */
export function forward(exchange: Exchange, target: Target): void {
  const { request, response, proxy } = exchange;
  const { endpoint } = target;
  exchange.routeLabel = target.route;
  exchange.api = endpoint.api;
  let body: RequestBody;
  try {
    const client = proxy.authenticate(request);
    if (client instanceof ProxyError) throw client;
    exchange.client = client;
    exchange.clientTimeouts = clientTimeoutsOf(request.headers);
    exchange.requestedRetries = requestedRetriesOf(request.headers);
    body = announcedBody(request, endpoint, proxy.settings.maxRequestBytes);
  } catch (error) {
    refuse(exchange, toProxyError(error));
    return;
  }
  // A key that may not send the request must not fill the queue for a place.
  admitClient(exchange, () => {
    enterProxy(exchange, () => {
      if (exchange.awaitsContinue) {
        exchange.awaitsContinue = false;
        response.writeContinue();
      }
      receive(exchange, target, body);
    });
  });
}

/**
 * Runs a request now, or when the process has a place for it. If there is no place in time, or too many requests wait
 * or run, the client gets an error. The client also gets an error if its key has spent the budget meanwhile.
 */
export function enterProxy(exchange: Exchange, proceed: () => void): void {
  const { overload, settings, keys } = exchange.proxy;
  if (settings.overload === null) {
    proceed();
    return;
  }
  let hasWaited = false;
  const run = () => {
    exchange.hasPlace = true;
    const spent = hasWaited ? budgetFault(exchange.client?.key, keys?.store) : undefined;
    if (spent === undefined) proceed();
    else refuse(exchange, spent);
  };
  overload.enter(exchange.response, run, (error) => refuse(exchange, error));
  hasWaited = true;
}

function receive(exchange: Exchange, target: Target, body: RequestBody): void {
  const { request, proxy } = exchange;
  const whole = takeWholeBody(request);
  if (whole !== null) {
    receiveWhole(exchange, target, body, whole);
    return;
  }
  const limit = proxy.settings.maxRequestBytes;
  const chunkLimit = chunkLimitOf(request);
  const upload = watchUpload(exchange);
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    exchange.requestBytes = length;
    upload.isMoving = true;
    if (isOver(exchange)) return;
    try {
      if (length > limit) throw requestTooLarge(limit, undefined);
      chunkLimit?.add(chunk);
      body.push(chunk);
      if (exchange.call !== null || !body.canBeSent || awaitsUser(body, proxy.settings)) return;
      exchange.receivedAt = performance.now();
      new Attempts(exchange, target, body).start();
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  });
  request.on('end', () => {
    if (isOver(exchange)) return;
    if (exchange.call === null) exchange.receivedAt = performance.now();
    try {
      body.finish();
      if (exchange.call === null) start(exchange, target, body);
      else beginUpstreamTime(exchange, body);
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  });
}

/** Starts a request whose body arrived together with its head. `announcedBody` has checked the body's length. */
function receiveWhole(exchange: Exchange, target: Target, body: RequestBody, bytes: Buffer): void {
  exchange.requestBytes = bytes.length;
  exchange.receivedAt = performance.now();
  try {
    if (bytes.length > 0) body.push(bytes);
    body.finish();
    start(exchange, target, body);
  } catch (error) {
    breakOff(exchange, toProxyError(error));
  }
}

function start(exchange: Exchange, target: Target, body: RequestBody): void {
  const models = modelsOf(exchange, target, body);
  if (models === null) new Attempts(exchange, target, body).start();
  else startForModels(exchange, target, body, models);
}

/** Returns whether the request failed, or the upstream's answer has ended. The proxy then discards later chunks. */
function isOver(exchange: Exchange): boolean {
  return exchange.error !== null || exchange.answeredAt !== 0;
}

/**
 * Begins the upstream's time, because a body that went upstream while it arrived is complete now. If the upstream
 * has already begun to answer, the times stay. Stores the timeout again: it depends on `stream`, which is certain
 * only now.
 */
function beginUpstreamTime(exchange: Exchange, body: RequestBody): void {
  const { selection, clientTimeouts } = exchange;
  if (selection !== null)
    exchange.timeoutMs = shownTimeout(
      requestTimeouts(clientTimeouts, selection.deployment, body.streams),
      body.streams,
    );
  if (exchange.firstByteAt !== 0) return;
  const now = performance.now();
  exchange.receivedAt += now - exchange.sentAt;
  exchange.sentAt = now;
}
