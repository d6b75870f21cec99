import { beforeEach, describe, expect, it } from '@jest/globals';
import { DriverError } from '../drivers/driver-error.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import { sampleMachines } from '../drivers/fake/sample-machines.js';
import { readMachines } from './read-machines.js';

const machines = sampleMachines(100);
const uuids = machines.map(({ uuid }) => uuid);
const [first = '', second = '', third = ''] = uuids;

let failures: Map<string, Error>;
let readCount: number;
let logged: unknown[];
beforeEach(() => {
  failures = new Map();
  readCount = 0;
  logged = [];
});

class FailingDriver extends FakeDriver {
  override async getSystem(...[id, ...rest]: Parameters<FakeDriver['getSystem']>) {
    readCount += 1;
    const failure = failures.get(id);
    if (failure !== undefined) throw failure;
    return super.getSystem(id, ...rest);
  }
}

const read = (of: readonly string[]) =>
  readMachines(
    of,
    { driver: new FailingDriver({ machines }), log: { warn: (...line) => void logged.push(line) } },
    { part: 'the drives' },
  );

describe('reading machines', () => {
  it('leaves out machines that are gone or cannot be read, gives the reasons, and logs the first cause', async () => {
    const bug = new TypeError('x is undefined');
    failures.set(first, bug);
    failures.set(second, new DriverError('unavailable', 'reading it: no answer'));
    failures.set(third, new DriverError('notFound', 'reading it: gone'));
    const { systems, unread } = await read(uuids.slice(0, 5));
    expect(systems.map(({ uuid }) => uuid)).toEqual(uuids.slice(3, 5));
    const lacks = (uuid: string) =>
      `The answer lacks the drives of '/redfish/v1/Systems/${uuid}', which the service could not read.`;
    expect(unread).toEqual([
      expect.objectContaining({ key: 'InternalError', detail: lacks(first) }),
      expect.objectContaining({ detail: `${lacks(second)} Reading it: no answer.` }),
    ]);
    expect(logged).toEqual([['machines could not be read for an answer', { count: 2, machine: first, error: bug }]]);
  });

  it('fails after the first batch if the host does not answer', async () => {
    for (const uuid of uuids) failures.set(uuid, new DriverError('unavailable', 'reading it: no answer'));
    await expect(read(uuids)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(readCount).toBe(32);
  });

  it('keeps what it has read if the host stops answering, and reads no further machines', async () => {
    for (const uuid of uuids.slice(32)) failures.set(uuid, new DriverError('unavailable', 'reading it: no answer'));
    const { systems, unread } = await read(uuids);
    expect([systems.length, unread.length, readCount]).toEqual([32, 68, 64]);
  });
});
