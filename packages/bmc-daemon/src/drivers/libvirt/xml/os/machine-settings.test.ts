import { describe, expect, it } from '@jest/globals';
import { q35Xml } from '../../../../../test/fixtures/domain-xml.js';
import { bootsFromNetwork, readFixedSettings, readLimits } from './machine-settings.js';
import { readDomain } from '../domain.js';
import { parseXml } from '../parse.js';
import { withHardware } from '../../../../../test/support/xml-edits.js';

const minimalDomain = (body: string): string => `<domain><name>n</name>${body}<devices/></domain>`;

describe('setHardware', () => {
  it('changes only vCPUs and memory, removes `current` for the maximum of vCPUs, and keeps equal values', () => {
    const xml = minimalDomain(
      `<memory unit='MiB'>512</memory><currentMemory>524288</currentMemory><vcpu placement='static'>4</vcpu>`,
    );
    const changed = withHardware(xml, { cpuCount: 3, memoryMiB: 256 });
    expect(changed).toBe(
      minimalDomain(
        `<memory unit='KiB'>262144</memory><currentMemory>262144</currentMemory><vcpu placement='static' current='3'>4</vcpu>`,
      ),
    );
    expect(withHardware(changed, { cpuCount: 4 })).toBe(changed.replace(` current='3'`, ''));
    expect(withHardware(xml, { cpuCount: 4, memoryMiB: 512 })).toBe(xml);
    expect(withHardware(withHardware(q35Xml, { networkBoot: false }), { networkBoot: false })).toBe(
      withHardware(q35Xml, { networkBoot: false }),
    );
  });

  it('keeps a size that is not a whole number of MiB if the client sends the value that it sees', () => {
    const xml = minimalDomain(`<memory>1048577</memory><cpu><numa/></cpu>`);
    expect(withHardware(xml, { memoryMiB: 1024 })).toBe(xml);
  });

  it('removes the first interface from the boot order, and adds it again', () => {
    expect(bootsFromNetwork(readDomain(q35Xml))).toBe(true);
    const without = withHardware(q35Xml, { networkBoot: false });
    expect(bootsFromNetwork(readDomain(without))).toBe(false);
    expect(bootsFromNetwork(readDomain(withHardware(without, { networkBoot: true })))).toBe(true);
    expect(bootsFromNetwork(readDomain(minimalDomain('')))).toBeNull();
    expect(withHardware(minimalDomain(''), { networkBoot: false })).toBe(minimalDomain(''));
  });

  it.each<[string, string, Parameters<typeof withHardware>[1], string]>([
    ['more vCPUs than the maximum', '<vcpu>2</vcpu>', { cpuCount: 3 }, 'its definition allows 2'],
    ['vCPUs that are named one by one', '<vcpu>2</vcpu><vcpus/>', { cpuCount: 1 }, 'its definition names each vCPU'],
    ['memory in cells', '<memory>4096</memory><cpu><numa/></cpu>', { memoryMiB: 2 }, 'its definition has NUMA cells'],
    ['network boot without a network', '', { networkBoot: true }, 'it has no network interface'],
  ])('rejects %s', (_what, body, change, why) => {
    expect(() => withHardware(minimalDomain(body), change)).toThrow(why);
  });
});

describe('readLimits', () => {
  it('reads the maximum values of the definition', () => {
    const limitsOf = (body: string) => readLimits(parseXml(minimalDomain(body)).root);
    expect(limitsOf('<memory>2097152</memory><vcpu current="1">8</vcpu>')).toEqual({ cpuCount: 8, memoryMiB: 2048 });
    expect(limitsOf('<maxMemory slots="2" unit="GiB">4</maxMemory><memory unit="GiB">1</memory>')).toEqual({
      cpuCount: 1,
      memoryMiB: 4096,
    });
  });
});

describe('readFixedSettings', () => {
  it('returns the reasons why the definition does not allow other vCPUs or another memory size', () => {
    const fixedBy = (body: string) => readFixedSettings(parseXml(minimalDomain(body)).root);
    expect(fixedBy('<vcpus/><cpu><numa/></cpu>')).toEqual({
      cpuCount: 'its definition names each vCPU',
      memoryMiB: 'its definition has NUMA cells',
    });
    expect(fixedBy('<vcpu>2</vcpu><cpu><topology/></cpu>')).toBeNull();
  });
});
