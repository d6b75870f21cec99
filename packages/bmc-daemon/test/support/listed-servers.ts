/** Nova's list of servers for a {@link CloudServer}, for numbers of servers that the lab does not have. */
import { apiVersion, sendJson, whenRead, type CloudServer } from './cloud-server.js';

/** Servers that a test adds, changes and deletes. */
export interface ListedServers {
  /** The servers as Nova shows them, oldest first. */
  readonly all: Map<string, { readonly body: Record<string, unknown>; readonly changed: number }>;
  /** Adds or replaces a server. @param changed the time of the change; default: now. */
  put(index: number, parts?: Record<string, unknown>, changed?: number): void;
}

/** Returns the UUID of a server. */
export const idOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** The image of all servers. */
export const IMAGE_ID = '00000000-0000-4000-8000-0000000000ff';

/** The action of the creation, as Nova lists it. */
const created = {
  action: 'create',
  request_id: 'req-1',
  user_id: 'user-1',
  start_time: '2026-11-23T01:15:02.960631',
  message: null,
};

/** The state after each action. */
const actions: Readonly<Record<string, { readonly vmState: string; readonly powerState: number }>> = {
  'os-start': { vmState: 'active', powerState: 1 },
  'os-stop': { vmState: 'stopped', powerState: 4 },
};

/** Lets a cloud answer with servers: the list, single ones, no ports, and actions, which end at once. */
export function listServers(cloud: CloudServer): ListedServers {
  const all: ListedServers['all'] = new Map();
  const act = (id: string, action: string): void => {
    const { body } = all.get(id) ?? {};
    const next = actions[action];
    if (body === undefined || next === undefined) throw new Error(`no action ${action} of server ${id}`);
    const { vmState, powerState } = next;
    const state = { 'OS-EXT-STS:vm_state': vmState, 'OS-EXT-STS:power_state': powerState };
    all.set(id, { body: { ...body, ...state }, changed: Date.now() });
  };
  cloud.nova = (request, response, path) => {
    const url = new URL(path, 'http://nova');
    const [, , id = '', part] = url.pathname.split('/');
    if (url.pathname === '/') sendJson(response, 200, apiVersion);
    else if (id === 'detail') sendJson(response, 200, pageOf(all, url.searchParams));
    else if (part === 'os-interface') sendJson(response, 200, { interfaceAttachments: [] });
    else if (part === 'os-instance-actions') sendJson(response, 200, { instanceActions: [created] });
    else if (part === 'remote-consoles')
      sendJson(response, 400, { badRequest: { message: 'Unavailable console type.' } });
    else if (part === 'action') {
      whenRead(request, (text) => {
        const action = Object.keys(JSON.parse(text) as object)[0] ?? '';
        if (action === 'os-getConsoleOutput') {
          sendJson(response, 200, { output: 'booting\n' });
          return;
        }
        act(id, action);
        response.writeHead(202).end();
      });
    } else if (all.has(id)) sendJson(response, 200, { server: all.get(id)?.body });
    else sendJson(response, 404, { itemNotFound: { message: 'Instance could not be found.' } });
  };
  return {
    all,
    put: (index, parts = {}, changed = Date.now()) => {
      const body = {
        id: idOf(index),
        name: `server-${index}`,
        status: 'ACTIVE',
        description: null,
        metadata: {},
        tags: [],
        flavor: { vcpus: 1, ram: 64, disk: 1, ephemeral: 0, swap: 0, original_name: 'm1' },
        image: { id: IMAGE_ID },
        'os-extended-volumes:volumes_attached': [],
        addresses: {
          net: [{ addr: '192.0.2.1', 'OS-EXT-IPS-MAC:mac_addr': 'FA:16:3E:00:00:01' }, { addr: '192.0.2.2' }],
        },
        'OS-EXT-STS:task_state': null,
        'OS-EXT-STS:vm_state': 'active',
        'OS-EXT-STS:power_state': 1,
        ...parts,
      };
      all.set(body.id, { body, changed });
    },
  };
}

/** Returns a page as Nova does: the newest first, and deleted servers with `changes-since` only. */
function pageOf(all: ListedServers['all'], query: URLSearchParams): { servers: unknown[]; servers_links?: unknown[] } {
  const since = query.get('changes-since');
  const shown = [...all.values()]
    .reverse()
    .filter(({ body, changed }) => (since === null ? body['status'] !== 'DELETED' : changed >= Date.parse(since)))
    .map(({ body }) => body);
  const start = query.has('marker') ? shown.findIndex(({ id }) => id === query.get('marker')) + 1 : 0;
  const limit = Math.min(1000, Number(query.get('limit')));
  const page = shown.slice(start, start + limit);
  if (start + limit >= shown.length) return { servers: page };
  const next = new URLSearchParams({ ...Object.fromEntries(query), marker: String(page.at(-1)?.['id']) });
  // The host is one that only the cloud itself reaches.
  const href = `http://inner.invalid/v2.1/servers/detail?${next.toString()}`;
  return { servers: page, servers_links: [{ rel: 'next', href }] };
}
