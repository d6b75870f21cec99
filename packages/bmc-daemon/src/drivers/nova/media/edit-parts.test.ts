import { beforeEach, expect, it } from '@jest/globals';
import { DriverError } from '../../driver-error.js';
import type { TurnCheck } from '../../queue/operation-queue.js';
import type { CloudImage } from '../image/image-api.js';
import { isKnown, parseServer, type Server } from '../compute/server.js';
import { createEditParts } from './edit-parts.js';
import { formatChange, formatItem, STATE_KEY, stateProperty, untouchedState } from './server-state.js';
import { changesImageId } from './stored-state.js';

/** The writes that reached the cloud. */
let writes: string[];
/** The images of the cloud. */
let images: Map<string, CloudImage>;
/** Number of checks that still succeed. The next one fails, because another replica has taken the turn. */
let checks: number;
/** Whether Nova has locked the metadata. */
let isLocked: boolean;
beforeEach(() => {
  writes = [];
  images = new Map();
  isLocked = false;
});

/** The state of a server in rescue mode, with an empty drive. */
const booted = { ...untouchedState, bootedAfter: 'req-1' };
const server = serverWith('rescued');

function serverWith(vmState: string): Server {
  const parsed = parseServer({
    ...{ id: '00000000-0000-4000-8000-000000000001', name: 'web-1', status: 'ACTIVE', description: null, tags: [] },
    metadata: { [STATE_KEY]: formatItem(booted) },
    flavor: { vcpus: 1, ram: 64, disk: 1, ephemeral: 0, swap: 0, original_name: 'm1' },
    ...{ image: { id: '00000000-0000-4000-8000-0000000000ff' }, 'os-extended-volumes:volumes_attached': [] },
    ...{ addresses: {}, 'OS-EXT-STS:task_state': null, 'OS-EXT-STS:power_state': 1, 'OS-EXT-STS:vm_state': vmState },
  });
  if (!parsed.success || !isKnown(parsed.data)) throw new Error('the test server has another form');
  return parsed.data;
}

const imageOf = (id: string, properties: Readonly<Record<string, string>>): CloudImage => ({
  ...{ id, name: 'note', status: 'queued', url: undefined, sizeBytes: undefined, hasImportFailed: false },
  properties: new Map(Object.entries(properties)),
});

const throwUnused = (): never => {
  throw new Error('the test does not expect this call');
};
const act = (): Promise<{ readonly requestId: undefined }> => {
  writes.push('action');
  return Promise.resolve({ requestId: undefined });
};
const getServer = () => Promise.resolve(server);
const partsOf = createEditParts({
  api: {
    ...{
      act,
      getServer,
      listServers: throwUnused,
      listPorts: throwUnused,
      listActions: throwUnused,
      hasFailed: throwUnused,
    },
    ...{ consoleOutput: throwUnused, openConsole: throwUnused, diagnostics: throwUnused, getMetadata: throwUnused },
  },
  items: {
    setMetadata: () => {
      writes.push('item');
      return Promise.resolve(!isLocked);
    },
  },
  images: {
    get: (id) => Promise.resolve(images.get(id)),
    setProperty: () => Promise.resolve(void writes.push('property')),
    createNote: ({ id, properties }) => {
      writes.push('note');
      images.set(id, imageOf(id, properties));
      return Promise.resolve();
    },
    remove: (id) => {
      writes.push('removal');
      images.delete(id);
      return Promise.resolve();
    },
  },
  list: { record: () => undefined },
  region: 'R1',
  onWritten: () => undefined,
});

/** Checks the turn before each write, see {@link checks}. */
const check: TurnCheck = () => {
  checks -= 1;
  return checks < 0 ? Promise.reject(new DriverError('unavailable', 'turn lost')) : Promise.resolve();
};

it.each([
  [0, []],
  [1, ['item']],
  [2, ['item', 'note']],
])(
  'an edit in rescue mode writes neither an item nor a note after it has lost its turn, here after %i writes',
  async (left, expected) => {
    isLocked = true;
    checks = left;
    const { states } = partsOf(check);
    const change = states.write(server, { ...untouchedState, assetTag: 'x' });
    await (left < 2 ? expect(change).rejects.toThrow('turn lost') : change);
    expect(writes).toEqual(expected);
  },
);

it('an edit neither removes a note nor sends an action after it has lost its turn', async () => {
  const settled = serverWith('active');
  const id = changesImageId(settled) ?? '';
  const change = formatChange({ ...untouchedState, assetTag: 'x' }, settled.metadata[STATE_KEY]);
  images.set(id, imageOf(id, { [stateProperty(settled.id)]: change }));
  checks = 1;
  const { states, api } = partsOf(check);
  await expect(states.write(settled, untouchedState)).rejects.toThrow('turn lost');
  await expect(api.act(settled.id, { unrescue: null })).rejects.toThrow('turn lost');
  expect([writes, images.size]).toEqual([['item'], 1]);
});
