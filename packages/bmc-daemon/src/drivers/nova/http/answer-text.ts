/** Reads answers of OpenStack's services, and of proxies before them. */
import { parseJson } from '@rackless/daemon/text/json.js';
import type { CloudAnswer } from './exchange.js';

/** Maximum length of a reason in characters. */
const MAX_REASON = 300;
/** Maximum number of characters that are read for a reason from a body that is not JSON, such as HTML. */
const MAX_HTML = 20_000;

/**
 * Returns the parsed JSON of an answer; undefined if the answer is not JSON. Glance answers some
 * errors with plain text, and proxies with HTML.
 */
export function jsonOf({ text }: Pick<CloudAnswer, 'text'>): unknown {
  return parseJson(text);
}

/**
 * Returns the status and the reason of an error in one line, such as `409: it is locked`. The reason is the
 * message of a JSON body, or the text of any other body; without a text, only the status. Hides the given
 * secrets, because a proxy may repeat the request.
 */
export function reasonOf(answer: CloudAnswer, secrets: readonly string[]): string {
  const body = jsonOf(answer);
  const forms = secrets.flatMap(formsOf);
  const hide = (text: string): string => forms.reduce((shown, form) => shown.replaceAll(form, '******'), text);
  // Hides the secrets first, because `plainText` could remove a part of a secret. Takes more text than
  // `plainText` reads, so that the end of the text that it reads contains no partial secret.
  const text = messageIn(body) ?? (body === undefined ? plainText(hide(answer.text.slice(0, 2 * MAX_HTML))) : '');
  const hidden = hide(text);
  // Shortens the text last. Otherwise, the first part of a secret could remain, which is not
  // recognized.
  const line = hidden.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const shown = line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line;
  return shown === '' ? String(answer.status) : `${answer.status}: ${shown}`;
}

/**
 * Returns the forms in which an answer may repeat a secret: in JSON, in the ASCII JSON of Python, and as it is.
 */
function formsOf(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [...new Set([ascii, json, secret])];
}

/**
 * Finds `message` in `{conflictingRequest: {code, message}}`, `{error: {message}}` or `{message}`; undefined if there
 * is none.
 */
function messageIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const own = (body as { readonly message?: unknown }).message; // an unknown member of an object
  if (typeof own === 'string') return own;
  for (const value of Object.values(body) as unknown[]) {
    if (typeof value !== 'object' || value === null) continue;
    const { message } = value as { readonly message?: unknown }; // an unknown member of an object
    if (typeof message === 'string') return message;
  }
  return undefined;
}

/** Elements of HTML whose text is not for readers. */
const HIDDEN = /^<(\/?)(?:style|script|title)\b/i;

/** Removes the markup of HTML. Takes linear time, because a hostile service may send any text. */
function plainText(text: string): string {
  let isHidden = false;
  return text
    .slice(0, MAX_HTML)
    .split(/(<[^<>]*>)/)
    .map((part, index) => {
      const isTag = index % 2 === 1;
      const [, end] = (isTag ? HIDDEN.exec(part) : null) ?? [];
      if (end !== undefined) isHidden = end === '';
      return isTag || isHidden ? ' ' : part;
    })
    .join('');
}

/**
 * Returns the query of a link. The driver ignores the host of a link, which may be reachable only
 * inside the cloud.
 */
export function queryOf(link: string): URLSearchParams {
  const start = link.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : link.slice(start + 1));
}
