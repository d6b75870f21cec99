/** Tests metric reports of two real guests: one that only writes to its disk, and one that is idle. */
import { writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { TestHost, type Guest } from '../libvirt-driver/host.js';
import { newFolder, openLab, openStream, until, type Body, type Lab } from './event-lab.js';

/** Real mode: writes the second sector of the first disk in an endless loop (INT 13h, AH = 3). */
const writer = '31c0 8ed8 8ec0 8ed0 bc007c fb b80103 b90200 ba8000 bb007e cd13 ebf0';

function writingDisk(): Buffer {
  const disk = Buffer.alloc(1_048_576);
  Buffer.from(writer.replaceAll(' ', ''), 'hex').copy(disk);
  disk.writeUInt16LE(0xaa55, 510);
  return disk;
}

describe('the metric report of a guest', () => {
  const folder = newFolder();
  let host: TestHost;
  let driver: CompleteDriver;
  let lab: Lab;
  let guest: Guest;
  let idle: Guest;

  beforeAll(async () => {
    host = await TestHost.start();
    driver = await host.driver();
    writeFileSync(host.file('writer.img'), writingDisk());
    guest = await host.guest({ disk: host.file('writer.img') });
    idle = await host.guest();
    lab = await openLab(driver, folder.path);
    for (const { name } of [guest, idle]) await host.virsh('start', name);
  });
  afterAll(async () => {
    await lab.close();
    await host.stop();
    folder.remove();
  });

  const valueOf = (body: Body, id: string): number => {
    // The schema requires this property.
    const values = body['MetricValues'] as readonly { MetricId: string; MetricValue: string }[];
    return Number(values.find(({ MetricId }) => MetricId === id)?.MetricValue ?? Number.NaN);
  };
  const definition = (uuid: string) => `/redfish/v1/TelemetryService/MetricReportDefinitions/${uuid}`;

  it('shows rising values if the guest writes, low values if it is idle, and lower values after a new start', async () => {
    for (const { uuid } of [guest, idle]) {
      await lab.client.send('PATCH', definition(uuid), { body: { Schedule: { RecurrenceInterval: 'PT2S' } } });
    }
    const stream = await openStream(lab.client, '?$filter=EventFormatType%20eq%20MetricReport');
    const reportsOf = ({ uuid }: Guest) => stream.payloads.filter(({ Id }) => Id === uuid);
    const reportsWithWrites = () => reportsOf(guest).filter((body) => valueOf(body, 'DiskWriteRate') > 0);
    await until('two reports of what it wrote', () => reportsWithWrites().length > 1);
    const [first, second] = reportsWithWrites().slice(-2);
    const bytes = valueOf(second ?? {}, 'DiskWriteBytes');
    expect(bytes).toBeGreaterThan(valueOf(first ?? {}, 'DiskWriteBytes'));
    expect(valueOf(second ?? {}, 'DiskWriteRequests')).toBe(bytes / 512);
    expect(valueOf(second ?? {}, 'CPUUtilization')).toBeGreaterThan(5);
    await until(
      'the idle guest to boot',
      () => valueOf(reportsOf(idle).at(-1) ?? { MetricValues: [] }, 'CPUUtilization') < 5,
    );
    expect(valueOf(reportsOf(idle).at(-1) ?? {}, 'DiskWriteBytes')).toBe(0);

    await host.virsh('destroy', guest.name);
    await until('an empty report', () => isDeepStrictEqual(reportsOf(guest).at(-1)?.['MetricValues'], []));
    const seen = reportsOf(guest).length;
    await host.virsh('start', guest.name);
    // A report from before QEMU's first answer has no counters of disks.
    const afterStart = () =>
      reportsOf(guest)
        .slice(seen)
        .find((body) => !Number.isNaN(valueOf(body, 'DiskWriteBytes')));
    await until('a report of the next start', () => afterStart() !== undefined);
    const report = afterStart() ?? {};
    expect(report['MetricValues']).not.toContainEqual(expect.objectContaining({ MetricId: 'DiskWriteRate' }));
    expect(valueOf(report, 'DiskWriteBytes')).toBeLessThan(bytes);
    stream.close();
  });

  it('can be read while libvirtd is down; a read for an unknown machine then gives 503', async () => {
    const path = `/redfish/v1/TelemetryService/MetricReports/${guest.uuid}`;
    const last = await lab.get(path);
    await host.libvirtd.stopDaemon();
    await until('the host to be gone', async () => (await lab.client.get('/redfish/v1/Systems')).status === 503);
    const down = await lab.get(path);
    expect(Date.parse(String(down['Timestamp']))).toBeGreaterThanOrEqual(Date.parse(String(last['Timestamp'])));
    expect((await lab.client.get(path.replace(guest.uuid, 'nobody'))).status).toBe(503);
  });
});
