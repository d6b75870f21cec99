/**
 * Kills a daemon before and after each write of an operation. A client repeats its request at the daemon that starts
 * next. By default, some operations run in each state of a server; with RACKLESS_KILL=all, all run.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '../../daemon/process.js';
import { createGlance, type Glance } from '../../support/glance.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, Served } from '../../support/served-resources.js';
import { iso, startImages, type Images } from '../media-lab.js';
import { killAt, seeTokens, type Kill } from './killed-daemon.js';

const cloud = servedCloud();
const id = idOf(1);
const system = `/redfish/v1/Systems/${id}`;
const drive = `${system}/VirtualMedia/Cd`;
/** The drive of another server. */
const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd`;
let images: Images;
beforeEach(async () => {
  images = await startImages();
  images.contents.set('/boot.iso', iso);
});
afterEach(() => images.close());

type Operation = (served: Served) => Promise<number>;
const reset =
  (ResetType: string): Operation =>
  async (served) =>
    (await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType })).status;
const patch =
  (path: string, body: object): Operation =>
  async (served) =>
    (await served.send('PATCH', path, body)).status;
const override = (target: string, enabled: string): Operation =>
  patch(system, { Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } });
const insertInto =
  (path: string): Operation =>
  async (served) =>
    (await served.send('POST', `${path}/Actions/VirtualMedia.InsertMedia`, { Image: `${images.url}/boot.iso` })).status;
const ejectFrom =
  (path: string): Operation =>
  async (served) =>
    (await served.send('POST', `${path}/Actions/VirtualMedia.EjectMedia`, {})).status;
const insert = insertInto(drive);
const eject = ejectFrom(drive);

const operations: Readonly<Record<string, Operation>> = {
  insert,
  eject,
  ForceOff: reset('ForceOff'),
  ForceRestart: reset('ForceRestart'),
  GracefulRestart: reset('GracefulRestart'),
  On: reset('On'),
  'the override Hdd': override('Hdd', 'Continuous'),
  'the override Cd for one boot': override('Cd', 'Once'),
  'the check of certificates': patch(drive, { VerifyCertificate: false }),
};

/** States of a server in which the killed daemon gets the request, each with the operations that lead to the state. */
const states: Readonly<Record<string, readonly Operation[]>> = {
  'runs from its disks': [],
  'runs from its disks, with an image': [insert, override('Cd', 'Continuous')],
  'is off, with an image for one boot': [insert, override('Cd', 'Once'), reset('ForceOff')],
  'runs an image': [insert, override('Cd', 'Continuous'), reset('ForceRestart')],
  'runs an image for one boot': [insert, override('Cd', 'Once'), reset('ForceRestart')],
  'runs an image that was ejected': [insert, override('Cd', 'Once'), reset('ForceRestart'), eject],
  'runs iPXE with an empty drive': [override('Pxe', 'Once'), reset('ForceRestart')],
};

/** The operations that every run tests in each state. With RACKLESS_KILL=all, the tests run all operations. */
const usual: Readonly<Record<keyof typeof states, readonly (keyof typeof operations)[]>> = {
  'runs from its disks': ['insert'],
  'runs from its disks, with an image': ['eject', 'ForceRestart'],
  'is off, with an image for one boot': ['On'],
  'runs an image': ['eject', 'ForceOff', 'ForceRestart', 'the override Hdd'],
  'runs an image for one boot': ['ForceOff', 'GracefulRestart', 'the check of certificates'],
  'runs an image that was ejected': ['insert', 'ForceRestart'],
  'runs iPXE with an empty drive': ['ForceOff', 'the override Cd for one boot'],
};
const isUsual = process.env['RACKLESS_KILL'] !== 'all';
/** An operation in a state. */
interface Case {
  readonly state: string;
  readonly name: string;
  readonly steps: readonly Operation[];
  readonly operation: Operation;
}
const cases: readonly Case[] = Object.entries(states).flatMap(([state, steps]) =>
  Object.entries(operations)
    .filter(([name]) => !isUsual || usual[state]?.includes(name) === true)
    .map(([name, operation]) => ({ state, name, steps, operation })),
);

const change = (parts: object): void => cloud.servers.put(1, { ...cloud.servers.all.get(id)?.body, ...parts });
const vmState = () => cloud.servers.all.get(id)?.body['OS-EXT-STS:vm_state'];
/** Returns the state of the server in Nova, and the boot override and the drive that a client sees. */
async function clientView(served: Served): Promise<readonly unknown[]> {
  const { Boot: boot } = (await served.get(system)) as { readonly Boot: Body }; // The schema requires an object.
  const { Image: image, Inserted: inserted, VerifyCertificate: verify } = await served.get(drive);
  return [vmState(), boot['BootSourceOverrideTarget'], boot['BootSourceOverrideEnabled'], image, inserted, verify];
}

/** Creates the server anew, and starts a daemon that brings it into a state. Another server uses the same image. */
async function prepare(steps: readonly Operation[]) {
  const glance = createGlance();
  cloud.api.others.set('image', glance.handler);
  const network = glance.put({ name: 'ipxe', tags: [], hw_rescue_device: 'cdrom' });
  cloud.servers.put(1);
  cloud.servers.put(2);
  const start = () => cloud.serve({ media: { networkImage: network } });
  const served = await start();
  expect(await insertInto(other)(served)).toBe(204);
  for (const step of steps) expect(await step(served)).toBeLessThan(300);
  return { served, start, glance };
}

/** Returns the status and the result of an operation, and those of its repetition. */
async function withoutKill(steps: readonly Operation[], operation: Operation): Promise<readonly string[]> {
  const { served } = await prepare(steps);
  const results: string[] = [];
  for (const _ of [1, 2]) results.push(JSON.stringify([await operation(served), await clientView(served)]));
  await served.close();
  return results;
}

/** Resets the server, inserts and ejects an image, and boots the image once. @returns the unexpected results. */
async function useServer(served: Served, glance: Glance): Promise<readonly unknown[]> {
  const boots = [reset('ForceRestart'), reset('ForceOff'), eject, insert, override('Cd', 'Once'), reset('On')];
  const statuses: number[] = [];
  for (const step of boots) statuses.push(await step(served));
  const booted = await clientView(served);
  for (const step of [eject, reset('ForceRestart'), ejectFrom(other)]) statuses.push(await step(served));
  // Only the operator's image for network boots remains.
  await waitFor(
    () => (glance.images.size === 1 ? true : undefined),
    () => `Glance has ${JSON.stringify([...glance.images.values()])}`,
  );
  const faults = statuses.filter((status) => status >= 300).length === 0 ? [] : [statuses];
  const [state, target, enabled] = booted;
  return [state, target, enabled].join() === 'rescued,None,Disabled' ? faults : [...faults, booted];
}

/**
 * Kills a daemon at a write, and repeats its request at the next daemon.
 * @param expected the results without a kill.
 * @returns the unexpected results; undefined if the daemon has ended its operation before this write.
 */
async function repeatAfter(
  kill: Kill,
  { steps, operation, expected }: Pick<Case, 'steps' | 'operation'> & { readonly expected: readonly string[] },
): Promise<readonly unknown[] | undefined> {
  const tokens = seeTokens(cloud);
  const { served, start, glance } = await prepare(steps);
  const doomed = killAt(cloud, new Set(tokens), kill);
  await operation(served);
  await served.close();
  if (!doomed.isKilled) return undefined;
  const next = await start();
  const result = JSON.stringify([await operation(next), await clientView(next)]);
  const faults = [...(expected.includes(result) ? [] : [result, expected]), ...(await useServer(next, glance))];
  await next.close();
  return faults.length === 0 ? [] : [[kill.when, doomed.writes, faults]];
}

it.each(cases)(
  'the daemon lets a client repeat its request after a kill at any write: $name for a server that $state',
  async ({ steps, operation }) => {
    const { nova } = cloud.api;
    const expected = await withoutKill(steps, operation);
    const faults: unknown[] = [];
    for (const when of ['before', 'after'] as const) {
      for (let write = 0; ; write += 1) {
        cloud.api.nova = nova;
        const found = await repeatAfter({ write, when }, { steps, operation, expected });
        if (found === undefined) break;
        faults.push(...found);
      }
    }
    expect(faults).toEqual([]);
  },
  600_000,
);

it('the daemon accepts an insert after an eject that Nova could not store, and a kill at a later write', async () => {
  const { nova } = cloud.api;
  for (const when of ['before', 'after'] as const) {
    for (let write = 0; ; write += 1) {
      cloud.api.nova = nova;
      const tokens = seeTokens(cloud);
      const { served, start } = await prepare([insert]);
      // Nova stores no metadata in the state ERROR.
      change({ 'OS-EXT-STS:vm_state': 'error' });
      expect(await eject(served)).toBe(204);
      change({ 'OS-EXT-STS:vm_state': 'active' });
      const doomed = killAt(cloud, new Set(tokens), { write, when });
      await override('Hdd', 'Continuous')(served);
      await served.close();
      if (!doomed.isKilled) break;
      const next = await start();
      expect([await insert(next), await next.get(drive)]).toEqual([204, expect.objectContaining({ Inserted: true })]);
      await next.close();
    }
  }
});
