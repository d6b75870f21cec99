/**
 * Tests a host without QEMU monitors: libvirt's test driver. No guest boots there, so the tests read the boot
 * order from the XML of the machine.
 */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { ColdStart } from '../../src/drivers/libvirt/power/cold-start.js';
import { TestHost, until } from './host.js';

let host: TestHost;
let driver: CompleteDriver;

const uuid = '00000000-0000-4000-8000-0000000000aa';
const xml = `<domain type='test'>
  <name>dummy</name>
  <uuid>${uuid}</uuid>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><source file='/x.img'/><target dev='vda' bus='virtio'/><boot order='1'/></disk>
    <disk type='file' device='cdrom'><source file='/x.iso'/><target dev='hdc' bus='ide'/><readonly/></disk>
  </devices>
</domain>`;

beforeAll(async () => {
  host = await TestHost.start('test');
  driver = await host.driver();
  await writeFile(host.file('dummy.xml'), xml);
  await host.virsh('define', host.file('dummy.xml'));
});
afterAll(() => host.stop());

const bootOrder = async (...flags: string[]): Promise<readonly (string | undefined)[]> => {
  const text = await host.virsh('dumpxml', ...flags, 'dummy');
  return ['vda', 'hdc'].map(
    (target) => new RegExp(`dev='${target}'.*?</disk>`, 's').exec(text)?.[0].match(/order='(\d)'/)?.[1],
  );
};
const boot = async () => {
  const { enabled, target } = (await driver.getSystem('dummy')).boot;
  return { enabled, target };
};

describe('a host without a monitor', () => {
  it('supports reads, power-on, restart, shutdown and changes', async () => {
    expect((await driver.getSystem('dummy')).state).toBe('shutoff');
    await driver.power(uuid, 'create');
    expect((await driver.getSystem(uuid)).state).toBe('running');
    await driver.power(uuid, 'reset');
    await driver.power(uuid, 'shutdown');
    expect((await driver.getSystem(uuid)).state).toBe('shutoff');
    await driver.change(uuid, { indicator: 'off' });
    expect((await driver.getSystem(uuid)).indicator).toBe('off');
  });

  it.each([' between ', '  '])('finds a machine by its name %j, with all spaces of the name', async (name) => {
    const other = '00000000-0000-4000-8000-0000000000ab';
    await writeFile(host.file('spaces.xml'), xml.replace('dummy', name).replace(uuid, other));
    await host.virsh('define', host.file('spaces.xml'));
    await until('the machine', () => driver.getSystem(other).then(() => true));
    expect((await driver.getSystem(other)).name).toBe(name);
    expect((await driver.getSystem(name)).uuid).toBe(other);
    await driver.change(other, { indicator: 'off' });
    expect((await driver.getSystem(name)).indicator).toBe('off');
    await host.virsh('undefine', other);
  });

  it('keeps the passwords of a machine in a change that is based on a snapshot', async () => {
    const screen = xml.replace('</devices>', `<graphics type='vnc' port='-1' passwd='secret'/></devices>`);
    await writeFile(host.file('screen.xml'), screen);
    await host.virsh('define', host.file('screen.xml'));
    await driver.change(uuid, { assetTag: 'shelf 1' }, { basis: await driver.getSystem(uuid) });
    expect((await driver.getSystem(uuid)).assetTag).toBe('shelf 1');
    expect(await host.virsh('dumpxml', '--inactive', '--security-info', 'dummy')).toContain(`passwd='secret'`);
    await host.virsh('define', host.file('dummy.xml'));
  });

  it('does not overwrite changes that another program or client made after the snapshot in `basis`', async () => {
    const basis = await driver.getSystem(uuid);
    const seen = new Promise<void>((resolve) => {
      const leave = driver.onChange(() => {
        leave();
        resolve();
      });
    });
    await host.virsh('desc', 'dummy', '--config', 'theirs');
    await seen;
    await driver.change(uuid, { assetTag: 'shelf 2' }, { basis });
    const next = await driver.getSystem(uuid);
    await Promise.all([
      driver.change(uuid, { assetTag: 'shelf 3' }, { basis: next }),
      driver.change(uuid, { indicator: 'blinking' }, { basis: next }),
    ]);
    const { assetTag, indicator, description } = await driver.getSystem(uuid);
    expect({ assetTag, indicator, description }).toEqual({
      assetTag: 'shelf 3',
      indicator: 'blinking',
      description: 'theirs',
    });
    await host.virsh('define', host.file('dummy.xml'));
  });

  it('applies a one-time boot until power-off, and logs this limit', async () => {
    await driver.change(uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.power(uuid, 'create');
    expect(await bootOrder()).toEqual(['2', '1']);
    expect(await bootOrder('--inactive')).toEqual(['1', undefined]);
    expect(await boot()).toEqual({ enabled: 'disabled', target: 'none' });
    expect(host.messages).toContain(
      'libvirt cannot start machine dummy paused: its one-time boot order applies until power-off',
    );
    await driver.power(uuid, 'destroy');
    await driver.power(uuid, 'create');
    expect(await bootOrder()).toEqual(['1', undefined]);
    await driver.power(uuid, 'destroy');
  });

  it('preserves a change that another program makes while a one-time boot starts', async () => {
    await driver.change(uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    const parts = host.parts();
    const machine = await parts.inventory.find(uuid);
    const real = machine.domain.createWithFlags.bind(machine.domain);
    machine.domain.createWithFlags = async (...args) => {
      await host.virsh('desc', 'dummy', '--config', 'mine');
      return await real(...args);
    };
    await new ColdStart(parts).start(machine);
    expect(await bootOrder()).toEqual(['2', '1']);
    expect(await bootOrder('--inactive')).toEqual(['1', undefined]);
    expect(await boot()).toEqual({ enabled: 'disabled', target: 'none' });
    expect((await driver.getSystem(uuid)).description).toBe('mine');
    await driver.power(uuid, 'destroy');
    await host.virsh('desc', 'dummy', '--config', '');
  });

  it('applies an override of a running machine only in a new process, and logs this limit', async () => {
    await driver.power(uuid, 'create');
    await driver.change(uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    expect(host.messages).toContain(
      'no access to QEMU monitors: a boot override takes effect when a new QEMU process starts',
    );
    expect(await boot()).toEqual({ enabled: 'once', target: 'cdrom' });
    await driver.power(uuid, 'reset');
    expect(await bootOrder()).toEqual(['2', '1']);
    expect(await boot()).toEqual({ enabled: 'disabled', target: 'none' });
    await driver.power(uuid, 'destroy');
  });

  it('restores the boot order of a definition that a killed daemon left with an override', async () => {
    const { withBootOrder, withMetadata } = await import('../support/xml-edits.js');
    const { readMetadata } = await import('../../src/drivers/libvirt/xml/metadata/metadata.js');
    const definition = await host.virsh('dumpxml', '--inactive', 'dummy');
    const ordered = withBootOrder(definition, 'cdrom');
    const override = { enabled: 'once', target: 'cdrom', saved: ordered.saved } as const;
    const record = { ...readMetadata(definition), boot: override };
    await writeFile(host.file('left.xml'), withMetadata(ordered.xml, record));
    await host.virsh('define', host.file('left.xml'));
    const next = await host.driver();
    // The first change waits in the queue until the driver has restored the order.
    await next.change(uuid, { indicator: 'lit' });
    expect(await bootOrder('--inactive')).toEqual(['1', undefined]);
    expect(await boot()).toEqual({ enabled: 'once', target: 'cdrom' });
    await next.close();
  });

  it('rejects an insert as unsupported, because it cannot store the image', async () => {
    await host.virsh('change-media', 'dummy', 'hdc', '--eject', '--config').catch(() => undefined);
    await driver.media.eject(uuid, 'cdrom');
    const url = await host.serve((_request, response) => response.end('iso'));
    const error: unknown = await driver.media
      .insert(uuid, 'cdrom', { url, writeProtected: true, verifyCertificate: true })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DriverError);
    expect((error as DriverError).kind).toBe('unsupported');
  });
});

describe('the list of machines', () => {
  it('is read again only after a machine appeared or disappeared', async () => {
    const { hypervisor, inventory } = host.parts();
    const seen: string[] = [];
    inventory.start();
    await hypervisor.events.on('lifecycle', ({ domain, event }) => seen.push(`${domain.name} ${event}`)).ready;
    let lists = 0;
    const list = hypervisor.listAllDomains.bind(hypervisor);
    hypervisor.listAllDomains = (...args) => {
      lists += 1;
      return list(...args);
    };
    const namesAfter = async (...words: readonly string[]): Promise<readonly string[]> => {
      const before = seen.length;
      await host.virsh(...words);
      await until('the event', () => Promise.resolve(seen.length > before));
      return (await inventory.list()).map(({ name }) => name).toSorted();
    };
    expect(await namesAfter('start', 'dummy')).toEqual(['dummy', 'test']);
    const first = lists;
    expect(await namesAfter('destroy', 'dummy')).toEqual(['dummy', 'test']);
    expect(lists).toBe(first);
    await writeFile(host.file('guest.xml'), xml.replaceAll('dummy', 'guest').replace(uuid, uuid.replace('aa', 'bb')));
    expect(await namesAfter('create', host.file('guest.xml'))).toEqual(['dummy', 'guest', 'test']);
    expect(await namesAfter('destroy', 'guest')).toEqual(['dummy', 'test']);
    expect(await namesAfter('define', host.file('guest.xml'))).toEqual(['dummy', 'guest', 'test']);
    expect(await namesAfter('undefine', 'guest')).toEqual(['dummy', 'test']);
  });
});
