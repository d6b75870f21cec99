/**
 * Makes the errors for faults of connections to upstreams, with LiteLLM's statuses and beginnings of
 * messages.
 */
import { ProxyError, type ErrorKind } from '../errors/proxy-error.js';
import type { Deployment } from '../providers/deployment.js';
import { AnswerFault } from './connection/answer-fault.js';
import { ConnectError } from './connection/connect.js';
import { inModelGroup } from './model-group.js';
import { authorityOf, codeOf, type Peer } from './peer.js';
import { CERTIFICATE_QUESTION, tlsFault } from './tls-faults.js';
import { UnsendableError } from './connection/wire-request.js';

/** The name of a timeout that has passed. */
export type TimeoutName = 'connect' | 'send' | 'firstByte' | 'idle' | 'total';

const timeoutTexts: Readonly<Record<TimeoutName, (peer: string) => string>> = {
  connect: (peer) => `No connection to ${peer} was made within the connect timeout`,
  send: (peer) => `${peer} read nothing more of the request for the whole first-byte timeout`,
  firstByte: (peer) => `${peer} did not send the first byte of its answer within the first-byte timeout`,
  idle: (peer) => `${peer} sent nothing more of its answer within the idle timeout`,
  total: (peer) => `${peer} did not finish its answer within the total timeout`,
};

/** Makes the error for a timeout: 408, as in LiteLLM. */
export function timeoutFault(name: TimeoutName, limitMs: number, takenMs: number, peer: Peer): ProxyError {
  const times = `timeout value=${pythonSeconds(limitMs)}, time taken=${(takenMs / 1000).toFixed(2)} seconds`;
  const message = `litellm.Timeout: APITimeoutError - Request timed out. ${timeoutTexts[name](authorityOf(peer))} - ${times}`;
  return new ProxyError({
    status: 408,
    message: inModelGroup(message, peer.deployment.modelName),
    kind: 'timeout',
    failure: name === 'connect' ? 'unreachable' : 'timeout',
  });
}

/** The state of a request when its connection failed. */
interface Progress {
  /** The answer had begun, so the error is a fault of the answer. */
  readonly answerBegun: boolean;
  /** The connection had carried another request. */
  readonly reused: boolean;
}

/** Makes the error for a fault of the connection, of TLS or of the answer: 500, as in LiteLLM. */
export function connectionFault(error: Error, progress: Progress, peer: Peer): ProxyError {
  const { kind, cause } = describe(error, progress, peer);
  const isUnsent = error instanceof ConnectError || error instanceof UnsendableError;
  const failure = isUnsent ? 'unreachable' : 'interrupted';
  const head = internalHead(peer.deployment.provider.exceptionName);
  const message = inModelGroup(`${head} Connection error. ${cause}`, peer.deployment.modelName);
  return new ProxyError({ status: 500, message, kind, failure, cause: error });
}

/**
 * Makes the error for a deployment whose files or variables cannot be used: 500. Nothing was sent.
 * @param why names the file or the variable.
 */
export function unusableDeployment({ provider, modelName }: Deployment, why: string, cause: unknown): ProxyError {
  const message = inModelGroup(`${internalHead(provider.exceptionName)} Connection error. ${why}`, modelName);
  return new ProxyError({ status: 500, message, kind: 'tls', failure: 'unreachable', cause });
}

/**
 * Makes the error for an answer with an unsupported Content-Encoding, which the proxy did not ask
 * for.
 */
export function unknownCodingFault(coding: string, peer: Peer): ProxyError {
  const name = authorityOf(peer);
  const why = `${name} answers with Content-Encoding ${JSON.stringify(coding.slice(0, 100))}, which the proxy did not ask for`;
  const head = internalHead(peer.deployment.provider.exceptionName);
  return new ProxyError({
    status: 500,
    message: inModelGroup(`${head} ${why}`, peer.deployment.modelName),
    kind: 'malformedAnswer',
    failure: 'badGateway',
  });
}

const internalHead = (provider: string) => `litellm.InternalServerError: InternalServerError: ${provider} -`;

interface Description {
  readonly kind: ErrorKind;
  /** A sentence without its period. */
  readonly cause: string;
}

function describe(error: Error, { answerBegun, reused }: Progress, peer: Peer): Description {
  if (error instanceof ConnectError) return describeConnect(error, peer);
  const code = codeOf(error);
  const name = authorityOf(peer);
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return { kind: 'tls', cause: tlsFault(error, peer) };
  if (error instanceof AnswerFault && error.kind !== 'closed')
    return { kind: 'malformedAnswer', cause: answerFault(error, name) };
  // For example: a configured header contains a line break.
  if (error instanceof UnsendableError)
    return { kind: 'internal', cause: `The request to ${name} cannot be sent: ${error.message}` };
  if (!(error instanceof AnswerFault) && (code.startsWith('Z_') || code.startsWith('ERR_') || code === '')) {
    return answerBegun
      ? { kind: 'malformedAnswer', cause: `The answer of ${name} cannot be decoded: ${error.message}` }
      : { kind: 'internal', cause: `The request to ${name} failed: ${error.message}` };
  }
  // Node's client uses the code ECONNRESET also for "socket hang up", which is not a reset.
  const howItEnded = (code === 'ECONNRESET' && 'syscall' in error) || code === 'EPIPE' ? 'reset' : 'closed';
  if (answerBegun)
    return { kind: 'malformedAnswer', cause: `${name} ${howItEnded} the connection in the middle of its answer` };
  // A TLS 1.3 server rejects a client without a certificate after the handshake. The reset may
  // arrive before the alert with the reason.
  const isMaybeRefused = peer.tls !== null && !peer.tls.hasClientCertificate && !reused;
  const question = isMaybeRefused ? `: ${CERTIFICATE_QUESTION}` : '';
  return { kind: 'connection', cause: `${name} ${howItEnded} the connection before it answered${question}` };
}

function answerFault({ kind, message }: AnswerFault, name: string): string {
  switch (kind) {
    case 'head':
      return `The head of the answer of ${name} is too large (${message})`;
    case 'length':
      return `The answer of ${name} is shorter than its Content-Length`;
    default:
      return `The answer of ${name} is not valid HTTP/1.1 (${message})`;
  }
}

function describeConnect(error: ConnectError, peer: Peer): Description {
  if (error.stage === 'tls') return { kind: 'tls', cause: tlsFault(error.cause, peer) };
  const { proxy } = peer;
  if (proxy === null) return { kind: 'connection', cause: tcpFault(error.cause, peer.hostname, peer.port) };
  const through = `through the proxy ${proxy.hostname}:${proxy.port}`;
  const cause = codeOf(error.cause) === '' ? error.cause.message : tcpFault(error.cause, proxy.hostname, proxy.port);
  return { kind: 'connection', cause: `${authorityOf(peer)} cannot be reached ${through}: ${cause}` };
}

function tcpFault(error: Error, hostname: string, port: number): string {
  const name = `${hostname}:${port}`;
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
      return `${name} refused the connection`;
    case 'ENOTFOUND':
      return `There is no host ${hostname}`;
    case 'EAI_AGAIN':
      return `The name server does not answer for ${hostname}`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `There is no route to ${name}`;
    case 'ETIMEDOUT':
      return `${name} does not answer`;
    case 'ECONNRESET':
      return `${name} reset the connection`;
    default:
      return `No connection to ${name}: ${error.message}`;
  }
}

/** Writes milliseconds as seconds in the format of Python's float, as LiteLLM does, such as `20.0`. */
export function pythonSeconds(ms: number): string {
  const value = ms / 1000;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Returns whether the upstream ended the connection, by a close or by a reset. */
export function isConnectionEnd(error: Error): boolean {
  if (error instanceof AnswerFault) return error.kind === 'closed';
  const code = codeOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE';
}
