import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sendJson, settingsFor, startCloudServer, type CloudServer } from '../../../../test/support/cloud-server.js';
import { idOf, listServers, type ListedServers } from '../../../../test/support/listed-servers.js';
import { createSession, type CloudSession } from '../http/session.js';
import { createReader } from '../server-reader.js';
import { createComputeApi, type ComputeApi } from './compute-api.js';
import { ServerList } from './server-list.js';
import type { ServerFilter } from './server-filter.js';

const TIMEOUT_MS = 60_000;
let cloud: CloudServer;
let session: CloudSession;
let api: ComputeApi;
let servers: ListedServers;
/** Objects that the API ignored because of an unexpected form, and the place of the fault in each object. */
let ignored: (readonly [value: unknown, at: string])[];

const put: ListedServers['put'] = (...server) => servers.put(...server);

beforeEach(async () => {
  cloud = await startCloudServer();
  servers = listServers(cloud);
  session = createSession(settingsFor(cloud.url), { timeoutMs: TIMEOUT_MS });
  ignored = [];
  api = createComputeApi(session, {
    add: (_service, value, error) => ignored.push([value, error.issues[0]?.path.join('.') ?? '']),
  });
});
afterEach(async () => {
  session.close();
  await cloud.close();
});

const listings = () => cloud.requests.filter((line) => line.includes('/servers/detail'));

/** Returns a list with a record of its events. */
function open(filter: ServerFilter = {}) {
  const list = new ServerList(api, { filter, timeoutMs: TIMEOUT_MS });
  const events: string[] = [];
  list.onChange(({ kind, name }) => events.push(`${kind} ${name}`));
  return { list, events };
}

describe('the list of servers', () => {
  it('reads 5,000 servers by pages, and follows only the query of the next link', async () => {
    for (let index = 0; index < 5000; index += 1) put(index, {}, 0);
    const { list, events } = open();
    await Promise.all([list.refresh(0), list.refresh(0), list.refresh(1000)]);
    expect(list.refs).toHaveLength(5000);
    expect(new Set(list.refs.map(({ uuid }) => uuid)).size).toBe(5000);
    expect(listings()).toHaveLength(5);
    expect(listings()[1]).toBe(`GET /compute/servers/detail?limit=1000&marker=${idOf(4000)}`);
    expect(events).toEqual([]);
    await list.refresh(60_000);
    expect(listings()).toHaveLength(5);
  });

  it('requests only changes after the first listing, and reports these changes', async () => {
    for (const index of [1, 2, 3]) put(index, {}, 0);
    const { list, events } = open();
    await list.refresh(0);
    const before = list.refs;
    await list.refresh(-1);
    expect(listings()[1]).toContain('&changes-since=');
    expect(list.refs).toBe(before);
    put(1, { status: 'DELETED', 'OS-EXT-STS:vm_state': 'deleted' });
    put(2, { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 });
    put(3, { name: 'renamed' });
    put(4);
    await list.refresh(-1);
    expect([...events].sort()).toEqual([
      'changed renamed',
      'defined server-4',
      'stopped server-2',
      'undefined server-1',
    ]);
    expect(list.refs.map(({ name }) => name).sort()).toEqual(['renamed', 'server-2', 'server-4']);
    expect(list.find(idOf(2))?.snapshot.state).toBe('shutoff');
  });

  /** Returns the values of `changes-since` in the listings after the first one, in milliseconds before now. */
  const requestedTimes = () =>
    listings()
      .slice(1)
      .map((line) => Date.now() - Date.parse(decodeURIComponent(line.split('changes-since=')[1] ?? '')));

  it('requests the changes since the beginning of a listing, even if Nova answers much later', async () => {
    put(1, {}, 0);
    const { nova } = cloud;
    const real = performance.now.bind(performance);
    let elapsed = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => real() + elapsed);
    try {
      cloud.nova = (request, response, path) => {
        if (path.includes('/servers/detail')) elapsed += 50_000;
        nova(request, response, path);
      };
      const { list } = open();
      await list.refresh(0);
      await list.refresh(-1);
    } finally {
      clock.mockRestore();
    }
    // The first listing took 50 s. The second one requests the changes since 30 s before the first one began.
    expect(requestedTimes()[0]).toBeGreaterThan(79_000);
  });

  it('requests changes by the slowest clock of the hosts that answer for Nova', async () => {
    put(1, {}, 0);
    const { nova } = cloud;
    const ahead = [0, 300_000, 0];
    cloud.nova = (request, response, path) => {
      const ms = path.includes('/servers/detail') ? (ahead.shift() ?? 0) : 0;
      response.setHeader('date', new Date(Date.now() + ms).toUTCString());
      nova(request, response, path);
    };
    const { list } = open();
    for (let count = 0; count < 3; count += 1) await list.refresh(-1);
    for (const ms of requestedTimes()) expect([ms > 29_000, ms < 60_000]).toEqual([true, true]);
  });

  it('lists all servers again after five minutes, and refreshes meanwhile do not wait for this listing', async () => {
    for (const index of [1, 2]) put(index, {}, 0);
    const { list, events } = open();
    await list.refresh(0);
    await list.listAllIfDue();
    expect(listings()).toHaveLength(1);
    const { nova } = cloud;
    let release: (() => void) | undefined;
    const real = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => real() + 301_000);
    try {
      // A tag of server 1 changes, which a listing of changes does not report. Then Nova reads all servers for the full
      // listing, and answers late.
      put(1, { tags: ['redfish'] }, 0);
      const asked = new Promise<void>((resolve) => {
        cloud.nova = (...request) => {
          if (!request[2].startsWith('/servers/detail') || request[2].includes('changes-since')) {
            nova(...request);
            return;
          }
          const read = new Map(servers.all);
          release = () => {
            const later = new Map(servers.all);
            const replaceBy = (all: typeof read): void => {
              servers.all.clear();
              for (const [id, server] of all) servers.all.set(id, server);
            };
            replaceBy(read);
            nova(...request);
            replaceBy(later);
          };
          resolve();
        };
      });
      const all = list.listAllIfDue();
      await asked;
      put(2, { status: 'DELETED', 'OS-EXT-STS:vm_state': 'deleted' });
      put(3);
      await list.refresh(-1);
      // The deletion is too old for the next listing of changes.
      servers.all.delete(idOf(2));
      await list.refresh(-1);
      expect(list.refs.map(({ name }) => name)).toEqual(['server-1', 'server-3']);
      expect(list.find(idOf(1))?.server.tags).toEqual([]);
      release?.();
      await all;
      expect(list.refs.map(({ name }) => name)).toEqual(['server-1', 'server-3']);
      expect(list.find(idOf(1))?.server.tags).toEqual(['redfish']);
      expect([...events].sort()).toEqual(['defined server-3', 'undefined server-2']);
      const count = listings().length;
      await list.listAllIfDue();
      expect(listings()).toHaveLength(count);
    } finally {
      clock.mockRestore();
    }
  });

  it('lists again if Nova no longer knows the last server of a page', async () => {
    for (let index = 0; index < 1500; index += 1) put(index, {}, 0);
    const { nova } = cloud;
    let lost = 1;
    cloud.nova = (request, response, path) => {
      if (!path.includes('marker=') || lost === 0) {
        nova(request, response, path);
        return;
      }
      lost -= 1;
      sendJson(response, 400, { badRequest: { code: 400, message: `marker [${idOf(500)}] not found` } });
    };
    const { list } = open();
    await list.refresh(0);
    expect([list.refs.length, listings().length]).toEqual([1500, 4]);
    lost = 2;
    await expect(open().list.refresh(0)).rejects.toThrow('Nova rejected the marker of a page twice');
  });

  it.each([
    [
      'that has the same next page again and again',
      { servers: [], servers_links: [{ rel: 'next', href: '?marker=x' }] },
    ],
    ['of more servers than the daemon can read', { servers: Array(200_001).fill(null) }],
  ])('rejects a list %s, and continues with the next valid list', async (_, page) => {
    put(1, {}, 0);
    const { list } = open();
    await list.refresh(0);
    const { nova } = cloud;
    cloud.nova = (request, response, path) => {
      if (path.startsWith('/servers/detail')) sendJson(response, 200, page);
      else nova(request, response, path);
    };
    await expect(list.refresh(-1)).rejects.toThrow('listing the servers: Nova ');
    expect(listings().length).toBeLessThan(5);
    cloud.nova = nova;
    await list.refresh(-1);
    expect([list.refs.map(({ name }) => name), ignored]).toEqual([['server-1'], []]);
  });

  it.each(['Sat, 01 Jan 12026 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:05 GMT'])(
    'never requests changes since the unusable date %s of an answer, but requests changes after a valid date',
    async (date) => {
      put(1, {}, 0);
      const { nova } = cloud;
      let isStrange = true;
      cloud.nova = (request, response, path) => {
        const since = new URL(path, cloud.url).searchParams.get('changes-since');
        if (isStrange) response.setHeader('date', date);
        // Nova rejects `changes-since` with the year of such a date.
        if (since === null || since.startsWith('20')) nova(request, response, path);
        else sendJson(response, 400, { badRequest: { message: 'Invalid input for query parameters changes-since' } });
      };
      const { list } = open();
      await list.refresh(0);
      await list.refresh(-1);
      isStrange = false;
      put(2);
      for (let count = 0; count < 2; count += 1) await list.refresh(-1);
      expect(list.refs.map(({ name }) => name)).toEqual(['server-1', 'server-2']);
      expect(listings().at(-1)).toContain('changes-since=20');
    },
  );

  it('returns the same snapshot object while the server does not change', async () => {
    put(1);
    const { list } = open();
    await list.refresh(0);
    const first = list.find(idOf(1))?.snapshot;
    await list.refresh(-1);
    expect(list.find(idOf(1))?.snapshot).toBe(first);
    expect(first?.interfaces).toEqual([
      { mac: 'fa:16:3e:00:00:01', type: 'network', source: null, model: null, linkUp: true },
    ]);
  });

  it('has only servers that the filter selects, also after a change', async () => {
    put(1, { tags: ['redfish'] });
    put(2);
    const { list, events } = open({ tags: ['redfish'] });
    await list.refresh(0);
    expect(list.refs.map(({ name }) => name)).toEqual(['server-1']);
    put(1);
    put(2, { tags: ['redfish'] });
    await list.refresh(-1);
    expect(list.refs.map(({ name }) => name)).toEqual(['server-2']);
    expect([...events].sort()).toEqual(['defined server-2', 'undefined server-1']);
  });

  it('reports a restart that ended between two listings', async () => {
    put(1, { 'OS-EXT-STS:task_state': 'reboot_started_hard' });
    const { list, events } = open();
    await list.refresh(0);
    put(1);
    await list.refresh(-1);
    expect(events).toEqual(['rebooted server-1']);
  });

  it('reports the boot of an image, and the boot from the disks after it, as restarts', async () => {
    put(1);
    const { list, events } = open();
    await list.refresh(0);
    for (const state of ['rescued', 'rescued', 'active']) {
      put(1, { 'OS-EXT-STS:vm_state': state });
      await list.refresh(-1);
    }
    expect(events).toEqual(['rebooted server-1', 'rebooted server-1']);
  });

  it('keeps the last known server while its cell is down', async () => {
    put(1);
    const { list } = open();
    await list.refresh(0);
    servers.all.set(idOf(1), { body: { id: idOf(1), status: 'UNKNOWN' }, changed: Date.now() });
    await list.refresh(-1);
    expect(list.find(idOf(1))?.snapshot).toMatchObject({ name: 'server-1', unansweredSince: expect.any(Date) });
    put(1);
    await list.refresh(-1);
    expect(list.find(idOf(1))?.snapshot.unansweredSince).toBeUndefined();
  });

  it('ignores an answer to a request that is older than the request of the stored server', async () => {
    put(1);
    const { list, events } = open();
    await list.refresh(0);
    const old = await api.getServer(idOf(1));
    put(1, { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 });
    const readAt = performance.now();
    list.record(idOf(1), await api.getServer(idOf(1)), { readAt });
    expect(list.record(idOf(1), old, { readAt: readAt - 1 })?.state).toBe('shutoff');
    list.record(idOf(1), undefined, { readAt: readAt + 1 });
    expect(list.record(idOf(1), old, { readAt })).toBeUndefined();
    expect([list.refs, events]).toEqual([[], ['stopped server-1', 'undefined server-1']]);
  });

  it('does not show a deleted server again if the answer to an older read arrives after further listings', async () => {
    put(1);
    const { list, events } = open();
    await list.refresh(0);
    const readAt = performance.now();
    const old = await api.getServer(idOf(1));
    servers.put(1, { status: 'DELETED', 'OS-EXT-STS:vm_state': 'deleted' });
    for (let count = 0; count < 3; count += 1) await list.refresh(-1);
    // The deletion is too old for the next listing of changes.
    servers.all.delete(idOf(1));
    for (let count = 0; count < 3; count += 1) await list.refresh(-1);
    expect(list.record(idOf(1), old, { readAt })).toBeUndefined();
    expect([list.refs, events]).toEqual([[], ['undefined server-1']]);
  });

  it.each([
    ['a full listing', false],
    ['a listing of changes', true],
  ])('ignores old data in a late listing if a server was read after the listing began: %s', async (_, isSecond) => {
    const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
    for (const index of [1, 2, 3]) put(index);
    const { list, events } = open();
    if (isSecond) await list.refresh(0);
    // The answer arrives late, after Nova has already read the servers.
    const { nova } = cloud;
    const late = new Promise<() => void>((resolve) => {
      cloud.nova = (request, response, path) => {
        if (!path.startsWith('/servers/detail')) {
          nova(request, response, path);
          return;
        }
        const body = { servers: [...servers.all.values()].map((server) => server.body) };
        resolve(() => sendJson(response, 200, body));
      };
    });
    const listing = list.refresh(-1);
    const send = await late;
    const readAgain = async (index: number): Promise<void> => {
      const readAt = performance.now();
      list.record(idOf(index), await api.getServer(idOf(index)), { readAt });
    };
    put(1, off);
    servers.all.delete(idOf(2));
    put(4, { name: 'new' });
    for (const index of [1, 2, 4]) await readAgain(index);
    const before = [...events];
    send();
    await listing;
    const shown = list.refs.map(({ uuid, name }) => `${name} ${list.find(uuid)?.snapshot.state ?? ''}`);
    expect(shown.sort()).toEqual(['new running', 'server-1 shutoff', 'server-3 running']);
    expect(events).toEqual(before);
  });

  it('keeps the last known server if its new form is unexpected, and lists the others', async () => {
    for (const index of [1, 2, 3]) put(index, {}, 0);
    const { list, events } = open();
    await list.refresh(0);
    put(1, { flavor: { id: '1' } });
    put(2, { id: '../../Managers', name: 'no id' });
    put(3, { name: 'renamed' });
    servers.all.set('null', { body: { 'OS-EXT-STS:vm_state': null }, changed: Date.now() });
    await list.refresh(-1);
    expect(list.refs.map(({ name }) => name).sort()).toEqual(['renamed', 'server-1', 'server-2']);
    expect(events).toEqual(['changed renamed']);
    expect(list.find(idOf(1))?.snapshot.unansweredSince).toEqual(expect.any(Date));
    expect(ignored.map(([, at]) => at).sort()).toEqual(['flavor.vcpus', 'id', 'id']);
    await expect(api.getServer(idOf(1))).rejects.toThrow(
      'asking Nova: its answer has an unexpected form at server.flavor.vcpus',
    );
  });

  it('removes no server if a full listing has a server without an id', async () => {
    put(1);
    const { list, events } = open();
    await list.refresh(0);
    // If answers have no date, each listing is a full one.
    servers.all.clear();
    servers.all.set('null', { body: {}, changed: Date.now() });
    const { nova } = cloud;
    cloud.nova = (request, response, path) => {
      response.sendDate = false;
      nova(request, response, path);
    };
    await list.refresh(-1);
    await list.refresh(-1);
    expect(listings()[2]).not.toContain('changes-since');
    expect([list.refs.map(({ name }) => name), events]).toEqual([['server-1'], []]);
    servers.all.clear();
    await list.refresh(-1);
    expect(events).toEqual(['undefined server-1']);
  });

  it('confirms the states of servers that did not change, until a listing has a server without an id', async () => {
    put(1, {}, 0);
    const { list } = open();
    await list.refresh(0);
    const first = performance.now();
    expect(list.findSince(idOf(1), first)).toBeUndefined();
    expect(list.findSince(idOf(1), 0)?.server.name).toBe('server-1');
    await list.refresh(-1);
    expect(list.findSince(idOf(1), first)?.server.name).toBe('server-1');
    expect(list.findSince(idOf(2), first)).toBeUndefined();
    const second = performance.now();
    servers.all.set('null', { body: {}, changed: Date.now() });
    await list.refresh(-1);
    expect([list.findSince(idOf(1), second), list.isListedSince(second)]).toEqual([undefined, true]);
    // The change of the server without an id could be a change of this server.
    servers.all.delete('null');
    await list.refresh(-1);
    expect(list.findSince(idOf(1), second)).toBeUndefined();
  });

  it('reports new servers even if answers have no date', async () => {
    put(1);
    const { nova } = cloud;
    cloud.nova = (request, response, path) => {
      response.sendDate = false;
      nova(request, response, path);
    };
    const { list, events } = open();
    await list.refresh(0);
    put(2);
    await list.refresh(-1);
    expect(events).toEqual(['defined server-2']);
  });

  it('ignores parts of a server that have an unexpected form', async () => {
    put(1, {
      description: 5,
      metadata: { role: 'node', odd: null },
      tags: ['redfish', 7],
      fault: 'broken',
      'os-extended-volumes:volumes_attached': [null, { id: 'v1' }, { id: 2 }],
      addresses: { net: [{ 'OS-EXT-IPS-MAC:mac_addr': 5 }, null, { 'OS-EXT-IPS-MAC:mac_addr': 'FA:16:3E:00:00:01' }] },
      flavor: { vcpus: 1, ram: 64, original_name: 'm1', extra_specs: { 'os:secure_boot': 5, other: 'x' } },
    });
    const { list } = open({ tags: ['redfish'], metadata: { role: 'node' } });
    await list.refresh(0);
    expect(ignored).toEqual([]);
    expect(list.find(idOf(1))?.server).toMatchObject({
      ...{ description: null, metadata: { role: 'node' }, tags: ['redfish'], volumeIds: ['v1'], fault: null },
      ...{ macs: ['fa:16:3e:00:00:01'], flavor: { vcpus: 1, secureBoot: undefined } },
    });
    cloud.nova = (_request, response) =>
      sendJson(response, 200, {
        interfaceAttachments: [
          null,
          { mac_addr: 1 },
          { mac_addr: 'FA:16:3E:00:00:01', net_id: 'n', port_state: 'DOWN' },
        ],
      });
    // The session knows the API version already, so Nova gets only this request.
    expect(await api.listPorts(idOf(1))).toEqual([{ mac: 'fa:16:3e:00:00:01', network: 'n', isActive: false }]);
  });
});

describe('the reader of servers', () => {
  it('reads many servers with one listing, and returns undefined for an unknown server', async () => {
    for (let index = 0; index < 50; index += 1) put(index);
    const { list } = open();
    const reader = createReader({ api, list, freshMs: 1000 });
    const readings = await Promise.all([...servers.all.keys()].map((id) => reader.read(id)));
    expect(readings.map((reading) => [reading?.snapshot.name, reading?.isSingleRead])).toEqual(
      [...servers.all.values()].map(({ body }) => [body['name'], false]),
    );
    expect(cloud.requests.filter((line) => line.includes('/servers'))).toHaveLength(1);
    expect(await reader.read(idOf(99))).toBeUndefined();
  });

  it('requests the ports of a server only if a caller wants them, and not again for the next caller', async () => {
    put(7);
    const { list } = open();
    const reader = createReader({ api, list, freshMs: -1 });
    const ports = { wantsPorts: true };
    const singleReads = async (...reads: readonly Promise<unknown>[]) => {
      cloud.requests.length = 0;
      await Promise.all(reads);
      return cloud.requests.map((line) => line.split('/servers')[1]).sort();
    };
    const server = `/${idOf(7)}`;
    expect(await reader.read(idOf(7))).toMatchObject({ snapshot: { name: 'server-7' }, isSingleRead: true });
    expect(await singleReads(reader.read(idOf(7)))).toEqual([server]);
    // Two reads in one turn of the event loop share the requests.
    expect(await singleReads(reader.read(idOf(7)), reader.read(idOf(7), ports))).toEqual([
      server,
      `${server}/os-interface`,
    ]);
    expect(await singleReads(reader.read(idOf(7), ports))).toEqual([server]);
  });

  it('removes a server from the list when a read finds that it was deleted', async () => {
    put(1);
    const { list, events } = open();
    await list.refresh(0);
    const reader = createReader({ api, list, freshMs: -1 });
    servers.all.delete(idOf(1));
    expect(await reader.read(idOf(1))).toBeUndefined();
    expect([list.refs, events]).toEqual([[], ['undefined server-1']]);
  });
});
