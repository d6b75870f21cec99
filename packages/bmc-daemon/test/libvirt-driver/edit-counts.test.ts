/**
 * Counts how often each kind of change parses an XML text of its machine, and how often it makes a
 * new one. Fails if a number grows. The rule is one parse for each text that libvirt returns, and one
 * new text for each define. XML fragments that an editor inserts are not counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { SystemChange } from '../../src/drivers/system-change.js';
import { parseXml, XmlParser, type XmlDocument } from '../../src/drivers/libvirt/xml/parse.js';
import { XmlEdit } from '../../src/drivers/libvirt/xml/xml-edit.js';
import { TestHost } from './host.js';

interface Counts {
  /**
   * The machine. A change also reads other machines, pools and volumes: their texts do not count.
   */
  readonly uuid: string;
  parses: number;
  texts: number;
}

/** The counts of the running change. Reads after events of libvirt do not belong to it. */
const counting = new AsyncLocalStorage<Counts>();

/**
 * Replaces a method. During a counted change, each of its calls then also calls `count` with the
 * counts of this change, the result and the object.
 */
function onCall<Target extends object>(
  target: Target,
  name: keyof Target & string,
  count: (counts: Counts, result: unknown, self: Target) => void,
): void {
  const method: unknown = Object.getOwnPropertyDescriptor(target, name)?.value;
  if (typeof method !== 'function') throw new Error(`${name} is not a method`);
  Object.defineProperty(target, name, {
    configurable: true,
    value: function counted(this: Target, ...parameters: readonly unknown[]): unknown {
      const result: unknown = Reflect.apply(method, this, parameters);
      const counts = counting.getStore();
      if (counts !== undefined) count(counts, result, this);
      return result;
    },
  });
}

let host: TestHost;
let driver: CompleteDriver;
let url: URL;
beforeAll(async () => {
  onCall(XmlParser.prototype, 'document', (counts, result) => {
    if ((result as XmlDocument).source.includes(counts.uuid)) counts.parses += 1;
  });
  onCall(XmlEdit.prototype, 'text', (counts, text, { source }) => {
    if (text !== source) counts.texts += 1;
  });
  host = await TestHost.start();
  driver = await host.driver();
  ({ url } = await host.serveImage('a'));
  // The first image creates the pool, so that no counted insert does.
  const { uuid } = await host.guest();
  await insert(uuid);
  await driver.media.eject(uuid, 'cdrom');
});
afterAll(() => host.stop());

type Operation = (uuid: string) => Promise<void>;
const nothing: Operation = () => Promise.resolve();
const insert: Operation = (uuid) =>
  driver.media.insert(uuid, 'cdrom', { url, writeProtected: true, verifyCertificate: false });
const eject: Operation = (uuid) => driver.media.eject(uuid, 'cdrom');
const change =
  (parts: SystemChange): Operation =>
  (uuid) =>
    driver.change(uuid, parts);
const once = { enabled: 'once', target: 'cdrom' } as const;
const several: SystemChange = {
  boot: { enabled: 'continuous', target: 'cdrom' },
  bootOrder: ['disk:vda', 'disk:sda'],
  assetTag: 'rack 7',
};

/** Counts an operation. Other texts fill the parser's cache first, so that each text is parsed. */
async function count(uuid: string, run: Operation): Promise<Omit<Counts, 'uuid'>> {
  for (let index = 0; index < 40; index += 1) parseXml(`<other number='${index}'/>`);
  const counts = { uuid, parses: 0, texts: 0 };
  await counting.run(counts, () => run(uuid));
  return { parses: counts.parses, texts: counts.texts };
}

/** Counts an operation on a new machine. */
async function countOnNewMachine(run: Operation, before = nothing, isRunning = false): Promise<Omit<Counts, 'uuid'>> {
  const guest = await host.guest();
  if (isRunning) {
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
  }
  await before(guest.uuid);
  // The first change of a machine completes operations from before the start of the daemon.
  await driver.change(guest.uuid, {});
  // An insert uses the last snapshot of the machine, so read the machine again after the change
  // above.
  await driver.getSystem(guest.uuid);
  return await count(guest.uuid, run);
}

const continuous = { enabled: 'continuous', target: 'cdrom' } as const;
const settings = change({ settings: { memoryMiB: 8 } });
const start: Operation = (uuid) => driver.power(uuid, 'create');

/**
 * Fails if a change parses or makes more texts than given. Fewer are allowed, because a background
 * read may have parsed a text already.
 */
function expectAtMost(counts: Omit<Counts, 'uuid'>, parses: number, texts: number): void {
  const grown = { parses: Math.max(counts.parses, parses), texts: Math.max(counts.texts, texts) };
  expect(grown).toEqual({ parses, texts });
}

describe('a change of a machine that is off', () => {
  it.each<[string, Operation, Operation]>([
    ['boot once', change({ boot: once }), nothing],
    ['boot continuously', change({ boot: continuous }), nothing],
    ['boot continuously, own order and asset tag', change(several), nothing],
    [
      'boot continuously, own order and asset tag, over another override',
      change(several),
      change({ boot: { ...continuous, target: 'hd' } }),
    ],
    ['no override', change({ boot: { target: 'none' } }), change(several)],
    ['indicator', change({ indicator: 'lit' }), nothing],
    ['firmware settings', settings, nothing],
    ['insert', insert, nothing],
    ['insert while a continuous override waits for a drive', insert, change({ boot: continuous })],
  ])('parses its definition at most once, and builds at most one text: %s', async (_what, run, before) => {
    expectAtMost(await countOnNewMachine(run, before), 1, 1);
  });

  it('builds no text for autostart, which is outside of the definition', async () => {
    expectAtMost(await countOnNewMachine(change({ autostart: true })), 1, 0);
  });

  it('parses its definition at most twice for UEFI variables, for unused images, and to remove an intent', async () => {
    const efi = change({ boot: { firmware: 'efi', ...continuous }, secureBoot: 'off', assetTag: 'rack 7' });
    expectAtMost(await countOnNewMachine(efi), 2, 1);
    expectAtMost(await countOnNewMachine(eject, insert), 2, 1);
    expectAtMost(await countOnNewMachine(change({ autostart: true, assetTag: 'rack 7' })), 2, 2);
  });

  it('parses at most one text if it is a start; with pending settings or an override, parses and builds at most two', async () => {
    expectAtMost(await countOnNewMachine(start), 1, 0);
    expectAtMost(await countOnNewMachine(start, settings), 2, 2);
    // Parses the definition and the paused instance. Makes the text with the one-time order, and
    // later the text with the record of the start.
    expectAtMost(await countOnNewMachine(start, change({ boot: once })), 2, 2);
  });
});

describe('a change of a running machine', () => {
  it.each<[string, number, number, Operation, Operation]>([
    // Parses the definition and the running instance.
    ['boot once', 2, 1, change({ boot: once }), nothing],
    ['boot continuously', 2, 1, change({ boot: continuous }), nothing],
    ['indicator', 1, 1, change({ indicator: 'lit' }), nothing],
    // Also parses the definition after the change of the guest, to remove the intent.
    ['boot continuously, own order and asset tag', 3, 2, change(several), nothing],
    ['insert', 3, 2, insert, nothing],
    // Also parses both texts after the drive is empty, and the definition to find unused images.
    ['eject', 5, 2, eject, insert],
  ])('parses and builds at most the listed numbers of texts: %s', async (_what, parses, texts, run, before) => {
    expectAtMost(await countOnNewMachine(run, before, true), parses, texts);
  });
});

describe('the first change with content, of a definition that version 0.1 of the daemon wrote', () => {
  it.each(['boot-continuous', 'boot-once', 'media', 'owner-settings'])(
    'parses the definition at most once, and builds at most one text: %s',
    async (name) => {
      const xml = readFileSync(join(import.meta.dirname, `../fixtures/metadata-0.1/${name}.xml`), 'utf8');
      await writeFile(
        host.file('old.xml'),
        xml.replace(/<(name|uuid)>.*<\/\1>/g, '').replace('<memory', `<name>${name}</name><memory`),
      );
      await host.virsh('define', host.file('old.xml'));
      const uuid = (await host.virsh('domuuid', name)).trim();
      // Completes operations from before the start of the daemon, without a change of the definition.
      await driver.change(uuid, {});
      expectAtMost(await count(uuid, change({ assetTag: 'rack 7' })), 1, 1);
    },
  );
});
