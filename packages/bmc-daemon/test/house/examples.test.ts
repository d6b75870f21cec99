import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { inspectSettings } from '../../src/config/inspect.js';
import { loadSettings, type LoadedSettings } from '../../src/config/load.js';

const example = (name: string): LoadedSettings =>
  loadSettings({ file: join(import.meta.dirname, '../../../../examples/bmc-daemon', name) });

/** The nine settings of the contract (RF-1 to RF-9), as both files set them. */
const contractSettings = {
  listenPort: 8000,
  sslCert: null,
  sslKey: null,
  osCloud: null,
  libvirtUri: 'qemu:///system',
  authFile: null,
  ignoreBootDevice: false,
  bootLoaderMap: { UEFI: { x86_64: null, aarch64: null }, Legacy: { x86_64: null, aarch64: null } },
};

describe('the example configurations', () => {
  it('gives the nine settings of the contract without a fault', () => {
    const loaded = example('bmc-daemon.conf');
    expect(loaded.faults).toEqual([]);
    expect(loaded.warnings).toEqual([]);
    expect(inspectSettings(loaded).faults).toEqual([]);
    expect(loaded.settings).toMatchObject({ ...contractSettings, listenIp: '0.0.0.0' });
    const fromFile = Object.values(loaded.origins).filter((origin) => origin !== 'default');
    expect(fromFile).toHaveLength(8); // EMULATOR_AUTH_FILE is a comment: the user creates the password file
  });

  it('accepts a file of sushy-emulator unchanged, and uses all of it', () => {
    const loaded = example('sushy-emulator.conf');
    expect(loaded.faults).toEqual([]);
    expect(inspectSettings(loaded).faults).toEqual([]);
    expect(loaded.settings).toMatchObject({ ...contractSettings, listenIp: '127.0.0.1', featureSet: 'full' });
    expect(loaded.warnings).toEqual([]);
  });
});
