import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { withVariable } from '../../../../test/harness/variable-store.js';
import { variableNames, withVariablesOf } from './variable-store.js';

describe('a store of UEFI variables', () => {
  let empty: Buffer;
  let withKeys: Buffer;
  beforeAll(async () => {
    empty = await readFile('/usr/share/OVMF/OVMF_VARS_4M.fd');
    withKeys = await readFile('/usr/share/OVMF/OVMF_VARS_4M.ms.fd');
  });

  it('takes the keys of another template and keeps the variables of the system', () => {
    const installed = withVariable(empty, 'Boot0042', 'debian');
    expect(variableNames(installed)).toEqual(['Boot0042']);
    const secure = withVariablesOf(withKeys, installed) ?? Buffer.alloc(0);
    expect(secure).toHaveLength(withKeys.length);
    // Not SecureBootEnable, which the template of OVMF 2026.08 does not have.
    expect(variableNames(secure)).toEqual(expect.arrayContaining(['PK', 'KEK', 'db', 'dbx', 'Boot0042']));
    // Each variable once, with its last value.
    const names = variableNames(secure) ?? [];
    expect(new Set(names).size).toBe(names.length);
    const back = withVariablesOf(empty, secure) ?? Buffer.alloc(0);
    expect(variableNames(back)).toContain('Boot0042');
    for (const name of ['PK', 'KEK', 'db', 'dbx', 'SecureBootEnable', 'certdb', 'CustomMode']) {
      expect(variableNames(back)).not.toContain(name);
    }
    expect(back.includes(Buffer.from('debian'))).toBe(true);
    // A second merge changes nothing.
    expect(withVariablesOf(withKeys, back)?.equals(withVariablesOf(withKeys, secure) ?? Buffer.alloc(0))).toBe(true);
  });

  it('is rejected with another layout, or without room', () => {
    expect(variableNames(Buffer.alloc(1024, 0xff))).toBeNull();
    expect(variableNames(Buffer.from('QFI\xfb', 'latin1'))).toBeNull();
    expect(withVariablesOf(withKeys, withKeys.subarray(0, 1000))).toBeNull();
    expect(withVariablesOf(withKeys, Buffer.alloc(withKeys.length))).toBeNull();
    const full = withVariable(empty, 'Boot0000', 'x'.repeat(260_000));
    expect(variableNames(full)).toEqual(['Boot0000']);
    expect(withVariablesOf(empty, full)?.equals(full)).toBe(true);
    expect(withVariablesOf(withKeys, full)).toBeNull();
    // A length beyond the end of the store.
    const broken = Buffer.from(full);
    broken.writeUInt32LE(0x7fffffff, broken.readUInt16LE(48) + 28 + 40);
    expect(variableNames(broken)).toBeNull();
  });
});
