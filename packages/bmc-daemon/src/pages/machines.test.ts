import { describe, expect, it } from '@jest/globals';
import type { SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import { emptyDrive, sampleMachines } from '../drivers/fake/sample-machines.js';
import { renderMachines, renderUnavailable } from './machines.js';

const [sample] = sampleMachines();
if (sample === undefined) throw new Error('the fake driver has no machine');
const render = (...systems: readonly SystemSnapshot[]) =>
  renderMachines({
    hypervisor: 'fake',
    version: '1.2.3',
    machines: systems.map((system) => ({ uuid: system.uuid, name: system.name, system })),
  });
/** Returns the visible texts of the first machine's row. */
const cells = (page: string) => {
  const [, body = ''] = page.split('<tbody>');
  const [row = ''] = body.split('</tr>');
  return [...row.matchAll(/<t[dh][^>]*>([^]*?)<\/t[dh]>/g)].map(([, cell = '']) =>
    cell
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
};

describe('renderMachines', () => {
  it('shows power, memory, processors, boot and media in words', () => {
    const system: SystemSnapshot = {
      ...sample,
      uuid: '00000000-0000-0000-0000-000000000001',
      name: 'web <1>',
      state: 'running',
      memoryKiB: 1_572_864,
      processors: { ...sample.processors, count: 3 },
      boot: { ...sample.boot, enabled: 'once', target: 'cdrom', firmware: 'efi' },
      media: [{ ...emptyDrive('cdrom'), inserted: true, image: 'http://x/a.iso', imageName: 'a&b.iso', viaUri: true }],
    };
    expect(cells(render(system))).toEqual([
      'web &lt;1&gt; 00000000-0000-0000-0000-000000000001',
      'On',
      '1.5 GiB',
      '3',
      'CD, once UEFI',
      'a&amp;b.iso',
      'System Manager',
    ]);
  });

  it.each([
    [{ state: 'shutoff' as const, memoryKiB: 524_288 }, ['Off', '512 MiB']],
    [{ state: 'paused' as const, memoryKiB: 4_194_304 }, ['paused', '4 GiB']],
  ])('shows %j as %j', (changed, shown) => {
    expect(cells(render({ ...sample, ...changed })).slice(1, 3)).toEqual(shown);
  });

  it("shows the machine's own order without an override, and an empty drive", () => {
    const boot = { ...sample.boot, enabled: 'disabled' as const, firmware: 'bios' as const };
    expect(cells(render({ ...sample, boot, media: [] })).slice(4, 6)).toEqual(['own order BIOS', 'empty']);
  });

  it('explains an empty list', () => {
    expect(render()).toContain('There is no machine on this host yet');
  });
});

describe('renderUnavailable', () => {
  it('names the host and the reason', () => {
    const page = renderUnavailable({ hypervisor: 'libvirt qemu:///system', reason: 'connection <refused>' });
    expect(page).toContain('<code>libvirt qemu:///system</code> does not answer');
    expect(page).toContain('connection &lt;refused&gt;');
  });
});
