import { describe, expect, it } from '@jest/globals';
import { q35Xml } from '../../../../../test/fixtures/domain-xml.js';
import { readDomain } from '../domain.js';

const plugged = q35Xml
  .replace("<memory unit='KiB'>2097152", "<maxMemory slots='16' unit='GiB'>8</maxMemory>\n  <memory unit='KiB'>2097152")
  .replace(
    '</devices>',
    `<memory model='dimm'><target><size unit='MiB'>512</size></target><address type='dimm' slot='3' base='0x1'/></memory>
     <memory model='nvdimm'><source><path>/n</path></source><target><size unit='KiB'>1024</size><label><size>128</size></label></target></memory>
     <memory model='virtio-mem'><target><size unit='MiB'>64</size><requested unit='MiB'>32</requested><current unit='MiB'>16</current></target></memory>
     </devices>`,
  );

describe('memory modules of a definition', () => {
  it('are read with their total and current size', () => {
    const { memoryDevices, memorySlots } = readDomain(plugged);
    expect(memorySlots).toBe(16);
    expect(memoryDevices).toEqual([
      { model: 'dimm', sizeKiB: 524_288, totalKiB: 524_288, slot: 3 },
      { model: 'nvdimm', sizeKiB: 1024, totalKiB: 1024, slot: null },
      { model: 'virtio-mem', sizeKiB: 16_384, totalKiB: 65_536, slot: null },
    ]);
  });
});
