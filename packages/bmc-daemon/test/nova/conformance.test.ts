/** Tests that the resources of servers follow DMTF's schemas and have no dead link. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createNovaDriver } from '../../src/drivers/nova/nova-driver.js';
import { faultsOf, type Crawled } from '../contract/crawler.js';
import { mediaSettings, sendJson, settingsFor, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { crawlService, itFollowsDmtf } from '../support/crawled-service.js';
import { idOf, listServers } from '../support/listed-servers.js';

describe('the service with a cloud', () => {
  let cloud: CloudServer;
  let service: Awaited<ReturnType<typeof crawlService>>;
  let found: ReadonlyMap<string, Crawled>;

  beforeAll(async () => {
    cloud = await startCloudServer();
    cloud.others.set('volumev3', (_request, response) =>
      sendJson(response, 200, { volume: { name: 'data', size: 3, attachments: [] } }),
    );
    cloud.others.set('image', (_request, response) => sendJson(response, 200, { hw_firmware_type: 'uefi' }));
    const servers = listServers(cloud);
    servers.put(1, {
      description: 'a web server',
      'os-extended-volumes:volumes_attached': [{ id: 'v1' }],
      flavor: { vcpus: 1, ram: 64, disk: 1, ephemeral: 2, swap: 512, original_name: 'm1' },
    });
    servers.put(2, {
      'OS-EXT-STS:vm_state': 'error',
      'OS-EXT-STS:power_state': 0,
      fault: { code: 500, created: '2026-11-23T01:15:04Z', message: 'No valid host was found. ', details: 'Traceback' },
    });
    servers.put(3, {
      'OS-EXT-STS:vm_state': 'stopped',
      'OS-EXT-STS:power_state': 4,
      'OS-EXT-STS:task_state': 'powering-on',
    });
    const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });
    const driver = createNovaDriver({
      cloud: settingsFor(cloud.url),
      filter: {},
      timeoutMs: 120_000,
      media: mediaSettings,
      log,
    });
    await driver.start();
    service = await crawlService(driver);
    ({ found } = service);
  });
  afterAll(async () => {
    await service.close();
    await cloud.close();
  });

  it('has no dead link, and has the optional resources of a server', () => {
    expect([...found.values()].flatMap((crawled) => faultsOf(crawled, found))).toEqual([]);
    for (const part of [
      'Processors/CPU0',
      'LogServices/ActionLog/Entries/req-1',
      'LogServices/ConsoleLog/Entries/1-0',
      'Bios',
      'Bios/Settings',
      'SecureBoot',
      'Storage/local/Drives/root',
      'Storage/volume/Volumes/v1',
    ]) {
      expect([part, found.has(`/redfish/v1/Systems/${idOf(1)}/${part}`)]).toEqual([part, true]);
    }
  });

  itFollowsDmtf(() => found);

  it('shows the state of each server, no indicator, and only boot settings that Nova supports', () => {
    const bodyOf = (index: number) => found.get(`/redfish/v1/Systems/${idOf(index)}`)?.body ?? {};
    expect([1, 2, 3].map((index) => bodyOf(index)['PowerState'])).toEqual(['On', 'Off', 'PoweringOn']);
    expect(bodyOf(2)['Status']).toMatchObject({ Health: 'Critical' });
    const names = Object.keys(bodyOf(1));
    expect(names).toEqual(expect.arrayContaining(['ProcessorSummary', 'MemorySummary', 'EthernetInterfaces']));
    expect(names.filter((name) => name.includes('Indicator'))).toEqual([]);
    expect(bodyOf(1)['Boot']).toEqual({
      BootSourceOverrideEnabled: 'Continuous',
      'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Once', 'Continuous', 'Disabled'],
      BootSourceOverrideMode: 'UEFI',
      BootSourceOverrideTarget: 'Hdd',
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['Cd', 'Hdd'],
      '@Redfish.WriteableProperties': ['BootSourceOverrideTarget', 'BootSourceOverrideEnabled'],
    });
  });
});
