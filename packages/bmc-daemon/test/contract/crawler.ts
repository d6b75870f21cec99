/** Follows all links from the service root ({@link crawl}), and finds faults in the answers ({@link faultsOf}). */
import { Agent, request } from 'node:http';

/** The JSON object of an answer. */
export type Body = Readonly<Record<string, unknown>>;

/** The answer to a GET of one path. Header names are in lower case. */
export interface Crawled {
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Body;
}

/** Maximum number of concurrent requests. ilorest also reads a whole tree with concurrent requests. */
const atOnce = 16;

/**
 * Follows `@odata.id`, `@Redfish.ActionInfo`, and the `Uri` of the files of registries and schemas.
 * Returns the answers by path, whatever their status.
 * @param headers headers of every request, for example credentials.
 */
export async function crawl(
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, Crawled>> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const found = new Map<string, Crawled>();
  const known = new Set(['/redfish/v1']);
  const waiting = [...known];
  const walk = async (): Promise<void> => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const crawled = await get(port, agent, path, headers);
      found.set(path, crawled);
      for (const link of linksIn(crawled.body)) {
        const [target = ''] = link.split('#');
        if (known.has(target)) continue;
        known.add(target);
        waiting.push(target);
      }
    }
  };
  try {
    // A worker ends when nothing waits. Later results start the workers again.
    while (waiting.length > 0) await Promise.all(Array.from({ length: atOnce }, walk));
  } finally {
    agent.destroy();
  }
  return found;
}

/** Returns the faults of an answer, by itself and in comparison with the others. */
export function faultsOf(
  { path, status, headers, body }: Crawled,
  all: ReadonlyMap<string, Crawled>,
): readonly string[] {
  const type = String(body['@odata.type']);
  const [, schema = '', name = ''] = /^#(\w+(?:\.v\d+_\d+_\d+)?)\.(\w+)$/.exec(type) ?? [];
  const isFile = path.endsWith('.json');
  // A schema has no schema itself, so its answer has no Link. A schema never changes, so it has no ETag.
  const isSchema = path.startsWith('/redfish/v1/Schemas/');
  const described = `<http://redfish.dmtf.org/schemas/v1/${schema}.json>; rel=describedby`;
  const expected: readonly (readonly [string, unknown, unknown])[] = [
    ['status', status, 200],
    ['@odata.id', body['@odata.id'], isFile ? undefined : path],
    ['type of the schema', schema.split('.')[0], name],
    ['link', headers['link'], isSchema ? undefined : described],
    ['allow', /^GET, HEAD(, (POST|PATCH|DELETE))*$/.test(headers['allow'] ?? ''), true],
    ['etag', /^"[\w-]+"$/.test(headers['etag'] ?? ''), !isSchema],
    ['odata-version', headers['odata-version'], '4.0'],
    ['cache-control', headers['cache-control'], 'no-cache'],
    ['content-type', headers['content-type'], 'application/json; charset=utf-8'],
    ...(path === '/redfish/v1' || !('Id' in body) || isFile
      ? []
      : [['Id', path.split('/').at(-1), encodeURI(String(body['Id']))] as const]),
    ...countsIn(body),
    ...linksIn(body)
      .filter((link) => link.includes('#'))
      .map((link) => [`what ${link} points to`, pointsTo(link, all), true] as const),
    ...actionsIn(body).map(([action, target]) => [action, target, `${path}/Actions/${action.slice(1)}`] as const),
  ];
  return expected
    .filter(([, actual, right]) => actual !== right)
    .map(([what, actual, right]) => `${path}: ${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(right)}`);
}

function get(port: number, agent: Agent, path: string, headers: Readonly<Record<string, string>>): Promise<Crawled> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, agent, path, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const body = text === '' ? {} : (JSON.parse(text) as Body); // The service sends objects.
        const flat = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
        resolve({ path, status: incoming.statusCode ?? 0, headers: flat, body });
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function linksIn(body: Body): readonly string[] {
  return [...JSON.stringify(body).matchAll(/"(?:@odata\.id|Uri|@Redfish\.ActionInfo)":"(\/redfish[^"]*)"/g)].map(
    ([, link = '']) => link,
  );
}

/** Returns each count with its value and the length of its list. Omits lists with a next page. */
function countsIn(value: unknown): readonly (readonly [string, unknown, unknown])[] {
  if (Array.isArray(value)) return value.flatMap(countsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const list = /^(.+)@odata\.count$/.exec(name)?.[1];
    if (list === undefined) return countsIn(member);
    const items = value[list];
    return 'Members@odata.nextLink' in value
      ? []
      : [[name, member, Array.isArray(items) ? items.length : undefined] as const];
  });
}

function actionsIn(body: Body): readonly (readonly [string, unknown])[] {
  const actions = body['Actions'];
  if (!isObject(actions)) return [];
  return Object.entries(actions).flatMap(([name, action]) =>
    name.startsWith('#') && isObject(action) ? [[name, action['target']] as const] : [],
  );
}

/** Returns whether the part of a resource that a link names exists (RFC 6901). */
function pointsTo(link: string, all: ReadonlyMap<string, Crawled>): boolean {
  const [path = '', pointer = ''] = link.split('#');
  let value: unknown = all.get(path)?.body;
  for (const part of pointer.split('/').slice(1)) {
    value =
      typeof value === 'object' && value !== null
        ? Object.entries(value).find(([name]) => name === part)?.[1]
        : undefined;
  }
  return value !== undefined;
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
