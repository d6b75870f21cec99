import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Domain,
  DomainCreateFlags,
  DomainDefineFlags,
  DomainDeviceModifyFlags,
  type DomainEvent,
  DomainEventAgentLifecycleReason,
  DomainEventAgentLifecycleState,
  DomainEventTrayChangeReason,
  DomainInterfaceAddressesSource,
  DomainPausedReason,
  DomainQemuMonitorCommandFlags,
  DomainShutdownFlags,
  DomainState,
  DomainStatsTypes,
  DomainUndefineFlags,
  DomainXmlFlags,
  Hypervisor,
} from '../../src/index.js';
import { echoGuestXml, writeEchoDisk } from '../harness/echo-guest.js';
import { withHost } from '../harness/host.js';
import { startRecordingRelay } from '../harness/recording-relay.js';
import { until } from '../fake/until.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

const { LIVE, CONFIG, FORCE } = DomainDeviceModifyFlags;

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
let disk: string;
withHost('qemu', (host) => void ({ daemon, hypervisor } = host));
beforeAll(async () => {
  disk = await writeEchoDisk(join(daemon.dir, 'tmp'));
});

const { VALIDATE } = DomainDefineFlags;

describe('the QEMU host', () => {
  it('returns the same capabilities of its domains as virsh', async () => {
    const query = { virtType: 'qemu', arch: 'x86_64', machine: 'q35', emulatorBinary: '/usr/bin/qemu-system-x86_64' };
    const xml = await hypervisor.getDomainCapabilities(query);
    expect(xml.trim()).toBe(
      await virsh(daemon, 'domcapabilities', '--virttype', 'qemu', '--arch', 'x86_64', '--machine', 'q35'),
    );
    expect(await codeOf(hypervisor.getDomainCapabilities({ arch: 'pdp11' }))).toBe('INVALID_ARG');
  });

  it('returns the version of QEMU', async () => {
    const version = await hypervisor.getVersion();
    const printed = `${Math.trunc(version / 1e6)}.${Math.trunc(version / 1e3) % 1e3}.${version % 1e3}`;
    expect(await virsh(daemon, 'version')).toContain(`Running hypervisor: QEMU ${printed}`);
  });
});

describe('a running domain', () => {
  let domain: Domain;
  beforeAll(async () => {
    const defined = await hypervisor.domainDefineXml(echoGuestXml({ name: 'echo', disk }), VALIDATE);
    domain = await defined.createWithFlags(DomainCreateFlags.START_PAUSED);
  });
  afterAll(async () => {
    await domain.destroy();
    await domain.undefineFlags(DomainUndefineFlags.MANAGED_SAVE);
  });

  it('starts paused with START_PAUSED, and resumes', async () => {
    expect(await domain.getState()).toEqual({ state: DomainState.PAUSED, reason: DomainPausedReason.USER });
    await domain.resume();
    expect((await domain.getState()).state).toBe(DomainState.RUNNING);
    expect(await codeOf(domain.create())).toBe('OPERATION_INVALID');
  });

  it('has a console that transfers input and output', async () => {
    const console = await domain.openConsole();
    const answer = new Promise<string>((resolve, reject) => {
      let text = '';
      console.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (text.includes('rackless')) resolve(text);
      });
      console.once('error', reject);
      console.once('close', () => reject(new Error('closed')));
    });
    // The firmware discards input before the boot sector runs, so the test sends until the echo comes.
    const timer = setInterval(() => console.write('rackless'), 250);
    try {
      expect(await answer).toContain('rackless');
    } finally {
      clearInterval(timer);
      console.destroy();
    }
    expect(await codeOf(domain.openConsole('absent0'))).toBe('INTERNAL_ERROR');
  });

  it('has a console whose connection closes only after libvirtd has confirmed the abort', async () => {
    const socket = join(daemon.dir, 'tmp', 'relay-sock');
    const relay = await startRecordingRelay(socket, daemon.socket);
    const client = Hypervisor.connect(`qemu+unix:///system?socket=${socket}`);
    try {
      const console = await (await client.domainLookupByName('echo')).openConsole();
      console.destroy();
      await client.close();
      const ended = (): readonly string[] | undefined =>
        relay.connections.find((each) => each.includes('client: error') && each.includes('client: close'));
      await until('the end of the stream and of its connection', () => ended() !== undefined);
      expect(ended()?.filter((what) => what !== 'libvirtd: data')).toEqual([
        'client: error',
        'libvirtd: ok',
        'client: close',
      ]);
    } finally {
      await client.close();
      await relay.stop();
    }
  });

  it('executes monitor commands and returns raw replies', async () => {
    const qmp = JSON.parse(await domain.qemuMonitorCommand('{"execute":"query-status"}')) as unknown;
    // The test ignores other members: QEMU 9 has removed `singlestep`.
    expect(qmp).toMatchObject({
      return: { status: 'running', running: true },
      id: expect.stringMatching(/^libvirt-\d+$/),
    });
    const refused = JSON.parse(await domain.qemuMonitorCommand('{"execute":"unheard-of"}')) as unknown;
    expect(refused).toMatchObject({ error: { class: 'CommandNotFound' } });
    const line = await domain.qemuMonitorCommand('info status', DomainQemuMonitorCommandFlags.HMP);
    expect(line).toContain('VM status: running');
  });

  it('gets a new medium and ejects it, live and persistent, with tray events', async () => {
    const image = join(daemon.dir, 'tmp', 'medium.iso');
    await copyFile(disk, image);
    const drive = (source: string): string =>
      `<disk type='file' device='cdrom'>${source}<target dev='hda' bus='ide'/><readonly/></disk>`;
    const trays: DomainEvent<'trayChange'>[] = [];
    const subscription = hypervisor.events.on('trayChange', (event) => trays.push(event));
    await subscription.ready;

    await domain.updateDeviceFlags(drive(`<source file='${image}'/>`), LIVE | CONFIG | FORCE);
    expect(await domain.getXmlDesc()).toContain(image);
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).toContain(image);
    await domain.updateDeviceFlags(drive(''), LIVE);
    expect(await domain.getXmlDesc()).not.toContain(image);
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).toContain(image);
    await domain.updateDeviceFlags(drive(''), CONFIG);
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).not.toContain(image);

    await hypervisor.getHostname();
    const { OPEN, CLOSE } = DomainEventTrayChangeReason;
    expect(trays.map(({ domain: { name }, deviceAlias, reason }) => [name, deviceAlias, reason])).toEqual([
      ['echo', 'ide0-0-0', OPEN],
      ['echo', 'ide0-0-0', CLOSE],
      ['echo', 'ide0-0-0', OPEN],
      ['echo', 'ide0-0-0', CLOSE],
    ]);
    subscription.remove();
  });

  it('attaches and detaches a device, with an event for each', async () => {
    const stick = join(daemon.dir, 'tmp', 'stick.img');
    await copyFile(disk, stick);
    const device = `<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${stick}'/><target dev='sda' bus='usb'/></disk>`;
    const events = hypervisor.events.iterate(['deviceAdded', 'deviceRemoved']);
    await events.ready;
    await domain.attachDeviceFlags(device, LIVE | CONFIG);
    expect(await domain.getXmlDesc()).toContain(stick);
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).toContain(stick);
    const added = await events.next();
    await domain.detachDeviceFlags(device, LIVE | CONFIG);
    const removed = await events.next();
    expect([added.value, removed.value].map((event) => event?.kind)).toEqual(['deviceAdded', 'deviceRemoved']);
    expect(added.value?.deviceAlias).toMatch(/^usb-disk\d+$/);
    expect(removed.value?.deviceAlias).toBe(added.value?.deviceAlias);
    expect(await domain.getXmlDesc(DomainXmlFlags.INACTIVE)).not.toContain(stick);
    await events.return?.();
    expect(await codeOf(domain.detachDeviceFlags(device, CONFIG))).toBe('DEVICE_MISSING');
  });

  it('returns the sizes and counters of its disks', async () => {
    expect(await domain.getBlockInfo('vda')).toEqual({
      capacityBytes: 1_048_576,
      allocationBytes: expect.any(Number),
      physicalBytes: 1_048_576,
    });
    const stats = await domain.blockStats('vda');
    expect(stats.rdReq).toBeGreaterThan(0);
    expect(stats.rdBytes).toBeGreaterThanOrEqual(512n);
    expect([stats.wrReq, stats.wrBytes]).toEqual([0, 0n]);
    expect(await codeOf(domain.blockStats('vdz'))).toBe('INVALID_ARG');
  });

  it('returns statistics of the given groups with their types', async () => {
    const { STATE, CPU_TOTAL, VCPU, BLOCK } = DomainStatsTypes;
    const [stats] = await hypervisor.getAllDomainStats(STATE | CPU_TOTAL | VCPU | BLOCK);
    expect(stats?.domain).toEqual(domain);
    expect(stats?.parameters).toMatchObject({
      'state.state': DomainState.RUNNING,
      'cpu.time': expect.any(BigInt),
      'vcpu.current': 1,
      'block.count': 2,
      'block.0.name': 'vda',
      'block.0.capacity': 1_048_576n,
    });
  });

  it('accepts a reset, an NMI and a shutdown request', async () => {
    const events = hypervisor.events.iterate('reboot');
    await events.ready;
    await domain.reset();
    const event = await events.next();
    expect(event.value).toEqual({ kind: 'reboot', domain });
    await events.return?.();
    await domain.injectNmi();
    // libvirt confirms only that it sent the request, which this guest ignores.
    await domain.shutdownFlags(DomainShutdownFlags.ACPI_POWER_BTN);
    expect(await codeOf(domain.shutdownFlags(DomainShutdownFlags.GUEST_AGENT))).toBe('ARGUMENT_UNSUPPORTED');
    expect((await domain.getState()).state).toBe(DomainState.RUNNING);
  });
});

describe('a domain with a saved state', () => {
  it('returns the saved XML, even if the definition changes', async () => {
    const xml = echoGuestXml({ name: 'saved', disk });
    const defined = await hypervisor.domainDefineXml(xml, VALIDATE);
    expect(await codeOf(defined.managedSaveGetXmlDesc())).toBe('OPERATION_INVALID');
    await defined.createWithFlags(DomainCreateFlags.START_PAUSED);
    await virsh(daemon, 'managedsave', 'saved');
    await virsh(daemon, 'desc', 'saved', '--config', 'new');
    expect(await defined.getXmlDesc()).toContain('<description>new</description>');
    const saved = await defined.managedSaveGetXmlDesc();
    expect(saved).toContain(`<source file='${disk}'`);
    expect(saved).not.toContain('<description>');
    await defined.undefineFlags(DomainUndefineFlags.MANAGED_SAVE);
  });
});

describe('a domain with a guest agent channel', () => {
  it('reports at its start that no agent is connected', async () => {
    const channel = `<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>`;
    const events = hypervisor.events.iterate('agentLifecycle');
    await events.ready;
    const domain = await hypervisor.domainCreateXml(echoGuestXml({ name: 'agent', disk, devices: channel }));
    const event = await events.next();
    expect(event.value).toEqual({
      kind: 'agentLifecycle',
      domain,
      state: DomainEventAgentLifecycleState.DISCONNECTED,
      reason: DomainEventAgentLifecycleReason.DOMAIN_STARTED,
    });
    expect(await codeOf(domain.shutdownFlags(DomainShutdownFlags.GUEST_AGENT))).toBe('AGENT_UNRESPONSIVE');
    expect(await codeOf(domain.interfaceAddresses(DomainInterfaceAddressesSource.AGENT))).toBe('AGENT_UNRESPONSIVE');
    await events.return?.();
    await domain.destroy();
  });
});
