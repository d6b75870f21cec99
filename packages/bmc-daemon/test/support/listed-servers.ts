/** Nova's servers for a {@link CloudServer}, for faults and numbers that the lab does not have. */
import type { ServerResponse } from 'node:http';
import { apiVersion, PROJECT_ID, sendJson, whenRead, type CloudServer } from './cloud-server.js';

/** Servers that a test adds, changes and deletes. */
export interface ListedServers {
  /** The servers as Nova shows them, oldest first. */
  readonly all: Map<string, { readonly body: Record<string, unknown>; readonly changed: number }>;
  /** Bodies of the actions that Nova accepted, oldest first. */
  readonly actions: unknown[];
  /** Adds or replaces a server. @param changed the time of the change; default: now. */
  put(index: number, parts?: Record<string, unknown>, changed?: number): void;
}

/** Returns the UUID of a server. */
export const idOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** The image of each server, unless `put` gets another one. */
export const IMAGE_ID = '00000000-0000-4000-8000-0000000000ff';

/** Actions of a server as Nova lists them, newest first. */
type ListedActions = readonly Readonly<Record<string, string | null>>[];

/** Returns an action, as Nova lists it. */
const listedAction = (action: string, id: string) => ({
  action,
  request_id: id,
  user_id: 'user-1',
  start_time: '2026-11-23T01:15:02.960631',
  message: null,
});
const created = listedAction('create', 'req-1');

/** The state after each action, and the name of the action in Nova's list. */
const actions: Readonly<
  Record<string, { readonly name: string; readonly vmState: string; readonly powerState: number }>
> = {
  'os-start': { name: 'start', vmState: 'active', powerState: 1 },
  'os-stop': { name: 'stop', vmState: 'stopped', powerState: 4 },
  reboot: { name: 'reboot', vmState: 'active', powerState: 1 },
  rescue: { name: 'rescue', vmState: 'rescued', powerState: 1 },
  unrescue: { name: 'unrescue', vmState: 'active', powerState: 1 },
};

/**
 * Diagnostics as Nova 26 sends them. The values of the memory are 0 here, because libvirt's value
 * does not have the documented unit.
 */
const diagnostics = {
  ...{
    state: 'running',
    driver: 'libvirt',
    hypervisor: 'qemu',
    hypervisor_os: 'linux',
    uptime: 46,
    config_drive: false,
  },
  ...{ num_cpus: 2, num_disks: 2, num_nics: 1, memory_details: { maximum: 0, used: 0 } },
  cpu_details: [
    { id: 0, time: 17_300_000_000, utilisation: null },
    { id: 1, time: 700_000_000, utilisation: null },
  ],
  disk_details: [
    { read_bytes: 262_144, read_requests: 112, write_bytes: 5_778_432, write_requests: 488, errors_count: -1 },
    { read_bytes: 1, read_requests: 2, write_bytes: 3, write_requests: 4, errors_count: -1 },
  ],
  nic_details: [
    {
      mac_address: 'FA:16:3E:00:00:01',
      ...{ rx_octets: 2_070_139, rx_packets: 26_701, rx_errors: 100, rx_drop: 200, rx_rate: null },
      ...{ tx_octets: 140_208, tx_packets: 662, tx_errors: 400, tx_drop: 500, tx_rate: null },
    },
  ],
};

/** States in which Nova stores no metadata. */
const locked: ReadonlySet<unknown> = new Set(['rescued', 'error']);

/**
 * Lets a cloud answer requests for servers: lists, single servers, metadata and actions. There are
 * no ports. An action ends at once. In rescue mode, a server accepts only `unrescue`.
 */
export function listServers(cloud: CloudServer): ListedServers {
  const all: ListedServers['all'] = new Map();
  const histories = new Map<string, ListedActions>();
  const accepted: unknown[] = [];
  const refuse = (response: ServerResponse, id: string, doing: string): void => {
    const vmState = String(all.get(id)?.body['OS-EXT-STS:vm_state']);
    const message = `Cannot '${doing}' instance ${id} while it is in vm_state ${vmState}`;
    sendJson(response, 409, { conflictingRequest: { code: 409, message } });
  };
  /** Does an action. @returns whether Nova accepts it. */
  const acceptAction = (response: ServerResponse, id: string, action: string): boolean => {
    const { body } = all.get(id) ?? {};
    const next = actions[action];
    if (body === undefined || next === undefined) throw new Error(`no action ${action} of server ${id}`);
    const { name, vmState, powerState } = next;
    if (body['OS-EXT-STS:vm_state'] === 'rescued' && action !== 'unrescue') {
      refuse(response, id, name);
      return false;
    }
    const state = { 'OS-EXT-STS:vm_state': vmState, 'OS-EXT-STS:power_state': powerState };
    all.set(id, { body: { ...body, ...state }, changed: Date.now() });
    const past = histories.get(id) ?? [created];
    const requestId = `req-${past.length + 1}`;
    histories.set(id, [listedAction(name, requestId), ...past]);
    response.writeHead(202, { 'x-compute-request-id': requestId }).end();
    return true;
  };
  const setMetadata = (response: ServerResponse, id: string, key: string, value: string | undefined): void => {
    const server = all.get(id);
    if (server === undefined || locked.has(server.body['OS-EXT-STS:vm_state'])) {
      refuse(response, id, 'update_server_metadata');
      return;
    }
    const { [key]: _old, ...others } = server.body['metadata'] as Record<string, string>; // the tests list objects of texts
    const metadata = value === undefined ? others : { ...others, [key]: value };
    all.set(id, { ...server, body: { ...server.body, metadata } });
    sendJson(response, 200, { meta: metadata });
  };
  cloud.nova = (request, response, path) => {
    const url = new URL(path, 'http://nova');
    const [, , id = '', part, key = ''] = url.pathname.split('/');
    if (url.pathname === '/') sendJson(response, 200, apiVersion);
    else if (id === 'detail') sendJson(response, 200, pageOf(all, url.searchParams));
    else if (part === 'os-interface') sendJson(response, 200, { interfaceAttachments: [] });
    else if (part === 'os-instance-actions')
      sendJson(response, 200, { instanceActions: histories.get(id) ?? [created] });
    else if (part === 'diagnostics') sendJson(response, 200, diagnostics);
    else if (part === 'remote-consoles')
      sendJson(response, 400, { badRequest: { message: 'Unavailable console type.' } });
    else if (part === 'metadata' && request.method === 'GET') {
      if (all.has(id)) sendJson(response, 200, { metadata: all.get(id)?.body['metadata'] });
      else refuse(response, id, 'metadata');
    } else if (part === 'metadata') {
      whenRead(request, (text) => {
        const name = decodeURIComponent(key);
        const { meta = {} } = (text === '' ? {} : JSON.parse(text)) as { readonly meta?: Record<string, string> }; // the driver sends texts
        setMetadata(response, id, name, meta[name]);
      });
    } else if (part === 'action') {
      whenRead(request, (text) => {
        const body = JSON.parse(text) as object; // the driver sends objects
        const action = Object.keys(body)[0] ?? '';
        if (action === 'os-getConsoleOutput') sendJson(response, 200, { output: 'booting\n' });
        else if (acceptAction(response, id, action)) accepted.push(body);
      });
    } else if (all.has(id)) sendJson(response, 200, { server: all.get(id)?.body });
    else sendJson(response, 404, { itemNotFound: { message: 'Instance could not be found.' } });
  };
  return {
    all,
    actions: accepted,
    put: (index, parts = {}, changed = Date.now()) => {
      const body = {
        id: idOf(index),
        tenant_id: PROJECT_ID,
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

/**
 * Returns a page as Nova does: the newest first, and deleted servers only with `changes-since`. It lacks servers of
 * other projects, which Nova shows an administrator by their ids.
 */
function pageOf(all: ListedServers['all'], query: URLSearchParams): { servers: unknown[]; servers_links?: unknown[] } {
  const since = query.get('changes-since');
  const shown = [...all.values()]
    .reverse()
    .filter(({ body }) => (body['tenant_id'] ?? PROJECT_ID) === PROJECT_ID)
    .filter(({ body, changed }) => (since === null ? body['status'] !== 'DELETED' : changed >= Date.parse(since)))
    .map(({ body }) => body);
  const start = query.has('marker') ? shown.findIndex(({ id }) => id === query.get('marker')) + 1 : 0;
  const limit = Math.min(1000, Number(query.get('limit')));
  const page = shown.slice(start, start + limit);
  if (start + limit >= shown.length) return { servers: page };
  const next = new URLSearchParams({ ...Object.fromEntries(query), marker: String(page.at(-1)?.['id']) });
  // Only the cloud itself can reach this host.
  const href = `http://inner.invalid/v2.1/servers/detail?${next.toString()}`;
  return { servers: page, servers_links: [{ rel: 'next', href }] };
}
