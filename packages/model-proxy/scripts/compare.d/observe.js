/** Sends a request to a gateway, and describes its answer and the requests that the upstream gets. */

const WAIT_MS = 30_000;

/** Headers of answers whose values the script compares. Of `presentHeaders`, it compares only the presence. */
const comparedHeaders = ['content-type', 'retry-after', 'x-litellm-attempted-retries', 'x-litellm-attempted-fallbacks'];
const presentHeaders = [
  'x-litellm-call-id',
  'x-litellm-model-id',
  'x-litellm-model-api-base',
  'x-litellm-model-group',
  'x-litellm-version',
  'x-litellm-response-cost',
  'x-litellm-response-duration-ms',
  'x-litellm-overhead-duration-ms',
  'x-litellm-timeout',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'llm_provider-x-upstream',
];

/** Returns the names of the members of all objects. */
const sortedKeys = (objects) =>
  [...new Set(objects.flatMap((object) => Object.keys(object)))].sort((left, right) => left.localeCompare(right));

/** Returns one description of all events of a stream: names of members, the joined text, the usage, the end. */
function describedEvents(text) {
  const data = text
    .split(/\n\n/)
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));
  const events = data.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event));
  const deltas = events.map(({ choices = [] }) => choices[0]?.delta ?? {});
  return {
    model: events[0]?.model,
    keys: sortedKeys(events),
    deltaKeys: sortedKeys(deltas),
    text: deltas.map(({ content }) => content ?? '').join(''),
    finish: events.map(({ choices = [] }) => choices[0]?.finish_reason).find((reason) => typeof reason === 'string'),
    usage: events.find(({ usage }) => usage !== undefined && usage !== null)?.usage,
    error: events.find(({ error }) => error !== undefined)?.error,
    done: data.at(-1) === '[DONE]',
  };
}

function describedBody(type, text) {
  if (type.startsWith('text/event-stream')) return describedEvents(text);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Describes a request at the upstream. Of its headers, only Authorization counts. */
function describedRequest({ method, path, headers, body }) {
  return { method, path, authorization: headers.authorization, body };
}

/** Makes a form. A field with an object is a file: `{ name, type, text }`. */
function formOf(fields) {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields))
    if (typeof value === 'string') form.append(field, value);
    else form.append(field, new Blob([value.text], { type: value.type }), value.name);
  return form;
}

/**
 * Sends a request.
 * @returns `{status, headers, body, upstream}`; `body` is `{ broken: true }` if the answer breaks off.
 */
export async function observe(
  gateway,
  upstream,
  { method = 'POST', path, body, text, form, key = 'sk-master', headers = {} },
) {
  upstream.take();
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(form === undefined ? { 'content-type': 'application/json' } : {}),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(method === 'GET' ? {} : { body: form === undefined ? (text ?? JSON.stringify(body)) : formOf(form) }),
    signal: AbortSignal.timeout(WAIT_MS),
  });
  const seen = Object.fromEntries(comparedHeaders.map((name) => [name, answer.headers.get(name) ?? undefined]));
  const present = presentHeaders.filter((name) => answer.headers.has(name));
  const type = (answer.headers.get('content-type') ?? '').split(';')[0];
  let described;
  try {
    described = describedBody(type, await answer.text());
  } catch {
    described = { broken: true };
  }
  const callId = headers['x-litellm-call-id'] === undefined ? undefined : answer.headers.get('x-litellm-call-id');
  return {
    status: answer.status,
    headers: { ...seen, 'content-type': type, callId, ...Object.fromEntries(present.map((name) => [name, 'present'])) },
    body: described,
    upstream: upstream.take().map(describedRequest),
  };
}

/** Lists the members in which two values differ: the path of each, and both values. */
export function differences(left, right, at = '') {
  if (JSON.stringify(left) === JSON.stringify(right)) return [];
  const bothObjects = [left, right].every((value) => typeof value === 'object' && value !== null);
  if (!bothObjects || Array.isArray(left) !== Array.isArray(right)) return [{ at, left, right }];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.flatMap((key) => differences(left[key], right[key], at === '' ? key : `${at}.${key}`));
}
