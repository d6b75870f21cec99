import { describe, expect, it } from '@jest/globals';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { withMetadata } from '../../../../test/support/xml-edits.js';
import { DriverError } from '../../driver-error.js';
import type { SettingsChange } from '../../snapshot/firmware-snapshot.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { noSettings } from '../xml/metadata/settings-record.js';
import type { FirmwareChooser } from './firmware-choice.js';
import { PendingSettings } from './pending-settings.js';

const machine = { uuid: 'a', name: 'web-1', persistent: true } as unknown as Machine; // no call uses its domain
const pending: SettingsChange = { cpuCount: 1, memoryMiB: 512, networkBoot: true, kept: { L2Cache: '16 MB' } };
const definition = withMetadata(
  `<domain><name>web-1</name><memory>1048576</memory><vcpu>2</vcpu><os><type arch='x86_64'>hvm</type></os>` +
    `<devices><interface type='user'><mac address='52:54:00:00:00:01'/></interface></devices></domain>`,
  { ...emptyRecord, settings: { ...noSettings, pending } },
);

/**
 * Applies the settings to `definition` on a libvirt that answers each definition with an error, or stores it.
 * @returns the stored definitions, in the order of the calls.
 */
async function apply(errorFor: (xml: string) => Error | null): Promise<readonly string[]> {
  const stored: string[] = [];
  const domainDefineXml = async (xml: string): Promise<void> => {
    const error = errorFor(xml);
    if (error !== null) throw error;
    stored.push(xml);
    await Promise.resolve();
  };
  const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };
  const settings = new PendingSettings({
    host: { hypervisor: { domainDefineXml }, timeoutMs: 1000, log } as unknown as Host, // these members suffice
    firmware: {} as unknown as FirmwareChooser, // no setting needs firmware files
    now: () => new Date(0),
  });
  expect(await settings.apply(machine, definition)).toBe(true);
  return stored;
}

const memory = '<memory>524288</memory>';
const [cpus, boot] = [`<vcpu current='1'>2</vcpu>`, `<boot order='1'/>`];

describe('pending settings at a start', () => {
  it('are all in one definition if libvirt accepts them', async () => {
    const [xml = '', ...others] = await apply(() => null);
    expect(others).toEqual([]);
    for (const part of [memory, cpus, boot]) expect(xml).toContain(part);
    expect(readMetadata(xml).settings).toEqual({ ...noSettings, kept: pending.kept });
  });

  it('are applied one by one if libvirt rejects one of them; the others and stored values are not lost', async () => {
    const rejects = libvirtError('XML_ERROR', 'XML error: no such size');
    const stored = await apply((xml) => (xml.includes(memory) ? rejects : null));
    // If the daemon ends after the first of these definitions, the next start finds the other settings.
    // Only the last one says that the machine starts.
    const records = stored.map((xml) => readMetadata(xml));
    expect(records.map(({ settings, intents }) => [...Object.keys(settings?.pending ?? {}), intents !== null])).toEqual(
      [['memoryMiB', 'networkBoot', 'kept', false], ['kept', false], [true]],
    );
    const last = stored.at(-1) ?? '';
    for (const part of ['<memory>1048576</memory>', cpus, boot]) expect(last).toContain(part);
    expect(readMetadata(last).settings).toEqual({
      ...noSettings,
      kept: pending.kept,
      failure: {
        reason: 'setting the memory: changing the definition of machine web-1: XML error: no such size',
        time: '1970-01-01T00:00:00.000Z',
      },
    });
  });

  it('keep waiting if libvirt does not answer, and the start fails', async () => {
    const silent = libvirtError('CALL_TIMEOUT', 'no answer');
    await expect(apply(() => silent)).rejects.toMatchObject({ name: DriverError.name, kind: 'unavailable' });
  });
});
