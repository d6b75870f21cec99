import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { inspectSettings } from '../../src/config/inspect.js';
import { loadSettings, type LoadedSettings } from '../../src/config/load.js';

const example = (name: string): LoadedSettings =>
  loadSettings({ file: join(import.meta.dirname, '../../../../examples/bmc-daemon', name) });

/**
 * The settings of the contract (RF-1 to RF-9) that have the same value after loading either file:
 * all but EMULATOR_LISTEN_IP. EMULATOR_AUTH_FILE has its default, because no file sets it.
 */
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
  it('contain a bmc-daemon.conf without faults, which has all settings of the contract except EMULATOR_AUTH_FILE', () => {
    const loaded = example('bmc-daemon.conf');
    expect(loaded.faults).toEqual([]);
    expect(loaded.warnings).toEqual([]);
    expect(inspectSettings(loaded).faults).toEqual([]);
    expect(loaded.settings).toMatchObject({ ...contractSettings, listenIp: '0.0.0.0' });
    const fromFile = Object.values(loaded.origins).filter((origin) => origin !== 'default');
    // All nine but EMULATOR_AUTH_FILE: the user creates the password file, and then sets it.
    expect(fromFile).toHaveLength(8);
  });

  it('contain a sushy-emulator.conf that bmc-daemon loads without a fault or a warning', () => {
    const loaded = example('sushy-emulator.conf');
    expect(loaded.faults).toEqual([]);
    expect(inspectSettings(loaded).faults).toEqual([]);
    expect(loaded.settings).toMatchObject({ ...contractSettings, listenIp: '127.0.0.1', featureSet: 'full' });
    expect(loaded.warnings).toEqual([]);
  });
});
