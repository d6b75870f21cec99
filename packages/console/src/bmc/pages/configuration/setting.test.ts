import { expect, it } from '@jest/globals';
import { searchSettings, type Setting } from './setting.js';

const setting = (name: string, more: Partial<Setting> = {}): Setting => ({
  ...{ name, value: null, default: null, source: null, help: '', needsRestart: true },
  ...more,
});

it('a search finds settings that have all its words, in name, value, source or help', () => {
  const all = [
    setting('EMULATOR_LISTEN_PORT', { value: 8443, source: '/etc/bmc.conf:3' }),
    setting('EMULATOR_LISTEN_IP', { value: '::', help: 'Address on which the daemon listens.' }),
    setting('EMULATOR_SSDP', { value: false }),
  ];
  const found = (text: string) => searchSettings(all, text).map(({ name }) => name.replace('EMULATOR_', ''));
  expect(found('')).toEqual(['LISTEN_PORT', 'LISTEN_IP', 'SSDP']);
  expect(found('listen')).toEqual(['LISTEN_PORT', 'LISTEN_IP']);
  expect(found('listen 8443')).toEqual(['LISTEN_PORT']);
  expect(found(' BMC.conf ')).toEqual(['LISTEN_PORT']);
  expect(found('false')).toEqual(['SSDP']);
  expect(found('.*')).toEqual([]);
});
