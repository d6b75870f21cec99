import { describe, expect, it } from '@jest/globals';
import { q35Xml } from '../../../../../test/fixtures/domain-xml.js';
import { readDomain } from '../domain.js';
import { readSnapshot } from '../snapshot.js';

const withDevices = (markup: string): string => q35Xml.replace('</devices>', `${markup}</devices>`);
const portOf = (markup: string) => readDomain(withDevices(markup)).serialPort;

describe('the serial port of a machine', () => {
  it('is the first serial port that libvirt offers as a stream, or else the first console that it offers as one', () => {
    const file = `<serial type='file'><source path='/log'/><target port='0'/><alias name='serial0'/></serial>`;
    const pty = `<serial type='pty'><target port='1'/><alias name='serial1'/></serial>`;
    const virtio = `<console type='pty'><target type='virtio' port='0'/><alias name='console0'/></console>`;
    expect(portOf(`${virtio}${file}${pty}`)).toEqual({ alias: 'serial1' });
    expect(portOf(`${file}${virtio}`)).toEqual({ alias: 'console0' });
    expect(portOf(`<serial type='unix'><source mode='bind' path='/s'/></serial>`)).toEqual({ alias: null });
  });

  it('is absent if there is none, or if its data goes to a TCP socket', () => {
    expect(portOf('')).toBeNull();
    expect(portOf(`<serial type='tcp'><source mode='bind' host='127.0.0.1' service='1'/></serial>`)).toBeNull();
  });

  it('is shown in the snapshot', () => {
    const off = { state: 'shutoff', persistent: true, capacityBytes: new Map<string, number>() } as const;
    expect(readSnapshot(withDevices(`<serial type='pty'/>`), null, off).hasConsole).toBe(true);
    expect(Object.keys(readSnapshot(q35Xml, null, off))).not.toContain('hasConsole');
  });
});
