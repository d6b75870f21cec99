/**
 * Tests definitions that version 0.1 wrote, with a real libvirtd. The driver reads their metadata, and writes
 * it in the current format at the next change.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { emptyRecord } from '../../src/drivers/libvirt/xml/metadata/machine-record.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import { TestHost } from './host.js';

const folder = join(import.meta.dirname, '../fixtures/metadata-0.1');
/** The values that version 0.1 read from these definitions, without members that are not set. */
const records = JSON.parse(readFileSync(join(folder, 'records.json'), 'utf8')) as Readonly<
  Record<string, { readonly owner?: object }> // by the name of the definition
>;

let host: TestHost;
let driver: CompleteDriver;
beforeAll(async () => {
  host = await TestHost.start();
  for (const file of readdirSync(folder)) {
    // This file has intents of a killed daemon. The driver would complete them at its start and change the
    // definition; recovery.test.ts tests that.
    if (!file.endsWith('.xml') || file === 'intents.xml') continue;
    await writeFile(host.file(file), readFileSync(join(folder, file)));
    await host.virsh('define', host.file(file));
  }
  driver = await host.driver();
});
afterAll(() => host.stop());

const names = Object.keys(records).filter((name) => name !== 'intents');
const uuidOf = (name: string): string =>
  /<uuid>(.+)<\/uuid>/.exec(readFileSync(join(folder, `${name}.xml`), 'utf8'))?.[1] ?? '';
const definition = (name: string): Promise<string> => host.virsh('dumpxml', '--inactive', uuidOf(name));

describe('a definition of version 0.1', () => {
  it.each(names)('shows whether it has an image and a one-time boot, and reads do not change it: %s', async (name) => {
    const before = await definition(name);
    const { media, boot } = await driver.getSystem(uuidOf(name));
    expect(media.some(({ viaUri }) => viaUri)).toBe(name === 'media' || name === 'boot-http');
    expect(boot.enabled === 'once').toBe(name === 'boot-once' || name === 'boot-http');
    expect(await definition(name)).toBe(before);
  });

  it.each(names)('has its record in the current format after its next change: %s', async (name) => {
    await driver.change(uuidOf(name), { assetTag: 'shelf 2' });
    const after = await definition(name);
    expect(after).toMatch(/<rackless:machine [^>]*version=["']2["']>/);
    expect(readMetadata(after)).toEqual({
      ...emptyRecord,
      ...records[name],
      owner: { ...records[name]?.owner, assetTag: 'shelf 2' },
    });
  });

  it('gets its own boot order again when a client disables the override', async () => {
    await driver.change(uuidOf('boot-continuous'), { boot: { target: 'none' } });
    const xml = await definition('boot-continuous');
    expect(xml).toContain(`<boot dev='hd'/>\n    <boot dev='cdrom'/>`);
    expect(readMetadata(xml).boot?.saved).toBeNull();
  });

  it('permits the eject of an image that its record names, and keeps the other image', async () => {
    await driver.media.eject(uuidOf('media'), 'cdrom');
    const { media } = await driver.getSystem(uuidOf('media'));
    expect(media.filter(({ inserted }) => inserted).map(({ device }) => device)).toEqual(['usb']);
  });
});
