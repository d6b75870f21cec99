import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freeUdpPort, openSsdpClient, searchText, type SsdpClient } from '../../test/support/ssdp-client.js';
import { openDiscovery, type Discovery } from './discovery.js';
import { SSDP_GROUP } from './message.js';

let folder: string;
let port: number;
let client: SsdpClient;
const opened: Discovery[] = [];
const warnings: string[] = [];

async function start(configured: boolean, group = SSDP_GROUP): Promise<Discovery> {
  const discovery = openDiscovery({
    configured,
    stateDir: folder,
    serviceUuid: '7a0d5d6e-3c0c-4b0e-9d0b-1f5a2b3c4d5e',
    log: { info: () => undefined, warn: (message: string) => void warnings.push(message), error: () => undefined },
    group,
    port,
    random: () => 0,
  });
  opened.push(discovery);
  await discovery.start({ addresses: ['https://127.0.0.1:8000'], everywhere: true });
  return discovery;
}

/**
 * Returns whether the service answers a search. A second service also answers. Its answer to a
 * later search shows that all answers to the first search have arrived.
 */
async function isFound(): Promise<boolean> {
  const before = client.received.length;
  const probe = openDiscovery({
    configured: true,
    stateDir: path.join(folder, 'probe'),
    serviceUuid: '00000000-0000-4000-8000-000000000000',
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    group: SSDP_GROUP,
    port,
    random: () => 0,
  });
  await probe.start({ addresses: ['https://127.0.0.1:8000'], everywhere: true });
  await client.send(searchText(), { address: SSDP_GROUP, port });
  const isOurs = (text: string) => text.includes('7a0d5d6e');
  // Both services answer at once, so the answer to the second search comes after all answers to the
  // first.
  await client.arrived(before + 1);
  await client.send(searchText({ MX: '1', ST: 'upnp:rootdevice' }), { address: SSDP_GROUP, port });
  const answers = () => client.received.slice(before);
  for (let count = before + 1; !answers().some(({ text }) => !isOurs(text) && text.includes('rootdevice')); count += 1)
    await client.arrived(count + 1);
  await probe.close();
  return answers().some(({ text }) => isOurs(text));
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-discovery-'));
  port = await freeUdpPort();
  client = await openSsdpClient();
  warnings.length = 0;
});
afterEach(async () => {
  for (const discovery of opened.splice(0)) await discovery.close();
  client.close();
  rmSync(folder, { recursive: true });
});

describe('discovery', () => {
  it('is off as configured until a client changes this, and follows the client even after a restart', async () => {
    const first = await start(false);
    expect(first.settings).toEqual({ enabled: false, notifyTtl: 2, notifyIntervalSeconds: 600 });
    expect(await isFound()).toBe(false);
    await first.change({ enabled: true, notifyIntervalSeconds: 0 });
    expect(first.settings).toEqual({ enabled: true, notifyTtl: 2, notifyIntervalSeconds: 0 });
    expect(await isFound()).toBe(true);
    await first.close();
    expect(await isFound()).toBe(false);

    const second = await start(false);
    expect(second.settings).toEqual({ enabled: true, notifyTtl: 2, notifyIntervalSeconds: 0 });
    await second.change({ enabled: false });
    expect(await isFound()).toBe(false);
  });

  it('ignores the setting of a client after the configuration changed', async () => {
    const first = await start(true);
    await first.change({ enabled: false });
    await first.close();
    const second = await start(true);
    expect(second.settings.enabled).toBe(false);
    await second.close();
    const third = await start(false);
    await third.close();
    const fourth = await start(true);
    expect(fourth.settings.enabled).toBe(true);
    await fourth.change({ notifyTtl: 4 });
    expect(fourth.settings).toEqual({ enabled: true, notifyTtl: 4, notifyIntervalSeconds: 600 });
  });

  it('writes no file before a client changes a setting', async () => {
    await start(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is off with a warning if the service cannot listen, and a client that enables it gets an error', async () => {
    // The service cannot listen at this address: it is neither a multicast group nor an address of this host.
    const discovery = await start(true, '192.0.2.99');
    expect(warnings).toEqual(['clients cannot find the service by SSDP']);
    expect(discovery.settings.enabled).toBe(false);
    await expect(discovery.change({ enabled: true })).rejects.toThrow(/^listening at UDP port \d+: /);
    expect(discovery.settings.enabled).toBe(false);
  });

  it('stays off after a restart if a client disabled it while the service could not listen', async () => {
    const first = await start(true, '192.0.2.99');
    await first.change({ enabled: false });
    await first.close();
    const second = await start(true);
    expect(second.settings.enabled).toBe(false);
  });

  it('does not change if the setting cannot be stored', async () => {
    const discovery = openDiscovery({
      configured: false,
      stateDir: path.join(folder, 'file'),
      serviceUuid: 'x',
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      port,
    });
    opened.push(discovery);
    writeFileSync(path.join(folder, 'file'), '');
    await expect(discovery.change({ enabled: true })).rejects.toThrow(/discovery-x\.json/);
    expect(discovery.settings.enabled).toBe(false);
  });
});
