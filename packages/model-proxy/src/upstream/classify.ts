/**
 * Makes the errors for failed answers of upstreams, with LiteLLM's statuses and beginnings of messages.
 * @see https://docs.litellm.ai/docs/exception_mapping
 */
import { ProxyError } from '../errors/proxy-error.js';
import { jsonWithinDepth } from '../json/depth.js';
import { ERROR_LIMITS, JsonLimitError, valueWithinLimits } from '../json/parse-within-limits.js';
import type { Deployment } from '../providers/deployment.js';
import type { UpstreamError } from '../providers/dialect.js';
import { errorClassOf } from './error-class.js';
import { inModelGroup } from './model-group.js';
import { secretMask, type SecretMask } from './secret-mask.js';

/** The deployment of a request. A subset of the router's `Selection`. */
interface ErrorSelection {
  readonly deployment: Deployment;
  readonly modelGroup: string;
}

/** Maximum size of an error's body; the rest is ignored. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Maximum length of an upstream's message. Validation errors may repeat whole requests. */
const MAX_MESSAGE_LENGTH = 4000;
/** Maximum length of a type, of a code and of a parameter's name. */
const MAX_NAME_LENGTH = 300;
/** Maximum length of the text of an HTML page, in characters. The text replaces a message. */
const MAX_PAGE_LENGTH = 300;
/** The proxy searches only this many first characters of a page for text. */
const MAX_SEARCHED_LENGTH = 20_000;

/** Matches headers that tell a client when to retry. Clients get only these under their original names. */
const retryHeader = /^(retry-after|retry-after-ms|x-should-retry|x-ratelimit-.*)$/;
/** Maximum length of a retry header with its name, in characters; numbers, times and dates are shorter. */
const MAX_RETRY_HEADER_LENGTH = 64;
/** Maximum number of retry headers; OpenAI sends nine. */
const MAX_RETRY_HEADERS = 16;

/**
 * Makes the error for an answer outside of 2xx, or for an error object with status 200.
 * @param headers name, value, name, value; names in lower case.
 * @param body as received: JSON in the shape of OpenAI, vLLM or FastAPI, an HTML page, text, or
 *   nothing.
 */
export function errorOfFailedAnswer(
  status: number,
  headers: readonly string[],
  body: Buffer,
  selection: ErrorSelection,
): ProxyError {
  const { deployment } = selection;
  const text = body.toString('utf8', 0, MAX_BODY_BYTES);
  const parsed = valueWithinLimits(text, ERROR_LIMITS);
  const translated = deployment.provider.dialect?.error(status, parsed);
  if (translated !== undefined)
    return errorOfUpstreamError(translated.status ?? status, headers, translated, selection);
  return makeError(status, headers, readBody(text, parsed, secretMask(deployment)), selection);
}

/**
 * Makes the error for an upstream's error that a dialect has translated.
 * @param status of the answer, or the status that the dialect has chosen.
 */
export function errorOfUpstreamError(
  status: number,
  headers: readonly string[],
  { message, type, param, code }: UpstreamError,
  selection: ErrorSelection,
): ProxyError {
  const mask = secretMask(selection.deployment);
  const name = (value: string | null | undefined) => maskedName(value, mask);
  const error = { message: messageOf(message, mask), type: name(type), param: name(param), code: name(code) };
  return makeError(status, headers, error, selection);
}

function makeError(
  status: number,
  headers: readonly string[],
  error: MaskedError,
  { deployment, modelGroup }: ErrorSelection,
): ProxyError {
  const mask = secretMask(deployment);
  const message = error.message === '' ? defaultMessage(status, headers, mask) : error.message;
  const { head, status: clientStatus, failure } = errorClassOf(status, error.code, message);
  return new ProxyError({
    status: clientStatus,
    message: inModelGroup(`${head.replace('%', deployment.provider.exceptionName)}${message}`, modelGroup),
    param: error.param,
    kind: 'upstreamStatus',
    failure,
    headers: retryHeaders(headers, mask),
    ...(error.code === null ? {} : { code: error.code }),
    ...(error.type === null ? {} : { type: error.type }),
  });
}

const interruptions = {
  event: 'the stream ended in the middle of an event',
  answer: 'the stream ended before the answer had finished',
  error: 'the stream ended with an error event',
  object: 'the answer ended in the middle of its JSON',
};

/**
 * Makes the error for an incomplete stream or answer whose connection ended without an error, and for a stream
 * that ended with an error event.
 */
export function interruptionFault(what: keyof typeof interruptions, selection: ErrorSelection): ProxyError {
  const why = interruptions[what];
  const head = `litellm.InternalServerError: InternalServerError: ${selection.deployment.provider.exceptionName} - `;
  return new ProxyError({
    status: 500,
    message: inModelGroup(`${head}${why}`, selection.modelGroup),
    kind: 'malformedAnswer',
    failure: 'interrupted',
  });
}

/**
 * Makes the error for a successful answer that should be JSON but is not: a login page, a text of a
 * load balancer, or an empty body.
 * @param body as received, or its beginning.
 */
export function notJsonFault(status: number, body: Buffer, { deployment, modelGroup }: ErrorSelection): ProxyError {
  const bodyText = plainText(body.toString('utf8', 0, MAX_BODY_BYTES), secretMask(deployment));
  const what = body.length === 0 ? 'an empty body' : `a body that is not JSON${bodyText === '' ? '' : `: ${bodyText}`}`;
  const head = `litellm.BadGatewayError: BadGatewayError: ${deployment.provider.exceptionName} - `;
  return new ProxyError({
    status: 502,
    message: inModelGroup(`${head}the upstream answered ${status} with ${what}`, modelGroup),
    kind: 'malformedAnswer',
    failure: 'badGateway',
  });
}

/** Makes the error for a successful answer that the provider's dialect cannot translate. */
export function untranslatableFault(cause: unknown, { deployment, modelGroup }: ErrorSelection): ProxyError {
  const head = `litellm.BadGatewayError: BadGatewayError: ${deployment.provider.exceptionName} - `;
  const why =
    cause instanceof JsonLimitError
      ? `the JSON of the upstream is too large: ${cause.message}`
      : 'the answer of the upstream does not have the form of its API';
  return new ProxyError({
    status: 502,
    message: inModelGroup(`${head}${why}`, modelGroup),
    kind: 'malformedAnswer',
    failure: 'badGateway',
    cause,
  });
}

/** The parts of an upstream's error, masked and cut. */
interface MaskedError {
  readonly message: string;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | null;
}

function readBody(text: string, body: unknown, mask: SecretMask): MaskedError {
  // Gemini's endpoint with OpenAI's API sends [{"error": {…}}].
  const parsed: unknown = Array.isArray(body) && isRecord(body[0]) ? body[0] : body;
  if (parsed === undefined) return { message: plainText(text, mask), type: null, param: null, code: null };
  // OpenAI: {"error": {…}}; older vLLM: {"object": "error", "message": …}; Ollama: {"error": "…"};
  // FastAPI: {"detail": …}.
  const error = isRecord(parsed) ? (parsed['error'] ?? parsed) : parsed;
  if (!isRecord(error)) return { message: messageOf(error, mask), type: null, param: null, code: null };
  const { message, detail, msg, type, param, code } = error;
  const nothing = message === undefined && detail === undefined && msg === undefined;
  return {
    message: messageOf(nothing ? error : (message ?? detail ?? msg), mask),
    type: type === '' ? null : maskedName(type, mask),
    param: maskedName(param, mask),
    code: typeof code === 'number' ? String(code) : maskedName(code, mask),
  };
}

function maskedName(value: unknown, mask: SecretMask): string | null {
  return typeof value === 'string' && value !== 'None' ? cut(mask(value), MAX_NAME_LENGTH) : null;
}

/** Returns the title of an HTML page, or the text of a body without tags. */
function plainText(body: string, mask: SecretMask): string {
  const text = mask(body).slice(0, MAX_SEARCHED_LENGTH);
  // The patterns exclude `<` inside a tag. Otherwise, a page of only `<` would take quadratic time.
  const title = /<title[^<>]*>([^<]*)<\/title>/i.exec(text)?.[1] ?? '';
  const source = title.trim() === '' ? withoutScripts(text) : title;
  const plain = source
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return cut(plain, MAX_PAGE_LENGTH);
}

/**
 * Removes scripts and styles. The pattern `<script.*?</script>` would take quadratic time for
 * elements without an end tag.
 */
function withoutScripts(page: string): string {
  const elements = /<(\/?)(script|style)\b/gi;
  let text = '';
  let copiedEnd = 0;
  let openElement: string | null = null;
  for (const { 1: slash = '', 2: name = '', index } of page.matchAll(elements)) {
    const element = name.toLowerCase();
    if (slash === '' && openElement === null) {
      text += `${page.slice(copiedEnd, index)} `;
      copiedEnd = index;
      openElement = element;
    } else if (slash !== '' && openElement === element) {
      copiedEnd = index;
      openElement = null;
    }
  }
  // The text of an element without an end tag stays.
  return text + page.slice(copiedEnd);
}

function messageOf(value: unknown, mask: SecretMask): string {
  if (value === null || value === undefined) return '';
  return cut(mask(typeof value === 'string' ? value : (jsonWithinDepth(value) ?? '')), MAX_MESSAGE_LENGTH);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}

function defaultMessage(status: number, headers: readonly string[], mask: SecretMask): string {
  if (status < 300 || status > 399) return `the upstream answered ${status} without a message`;
  const locationIndex = headers.findIndex((name, index) => index % 2 === 0 && name === 'location');
  const where = locationIndex === -1 ? '' : ` to ${cut(mask(headers[locationIndex + 1] ?? ''), MAX_PAGE_LENGTH)}`;
  return `the upstream answered ${status}, a redirect${where}: the proxy does not follow redirects; set api_base to the final address`;
}

function retryHeaders(headers: readonly string[], mask: SecretMask): Record<string, string> {
  const retryHeaderValues = new Map<string, string>();
  for (let index = 0; index < headers.length && retryHeaderValues.size < MAX_RETRY_HEADERS; index += 2) {
    const [name = '', value = ''] = [headers[index], headers[index + 1]];
    if (retryHeader.test(name) && name.length + value.length <= MAX_RETRY_HEADER_LENGTH)
      retryHeaderValues.set(name, mask(value));
  }
  return Object.fromEntries(retryHeaderValues);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
