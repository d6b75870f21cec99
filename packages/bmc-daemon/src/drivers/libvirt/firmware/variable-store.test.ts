import { readFile } from 'node:fs/promises';
import { STREAM_CHUNK_BYTES } from '@rackless/libvirt';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { withVariable } from '../../../../test/harness/variable-store.js';
import { variableNames, mergeVariables } from './variable-store.js';

/** Reads the template without keys that has the same size as the template `name`. */
const emptyOf = (name: string) => readFile(`/usr/share/OVMF/${name.replace('.ms', '')}`);

describe('a store of UEFI variables', () => {
  let empty: Buffer;
  let withKeys: Buffer;
  beforeAll(async () => {
    empty = await readFile('/usr/share/OVMF/OVMF_VARS_4M.fd');
    withKeys = await readFile('/usr/share/OVMF/OVMF_VARS_4M.ms.fd');
  });

  it('gets the keys of another template, or loses them, and keeps the boot entries of the operating system', () => {
    const installed = withVariable(empty, 'Boot0042', 'debian');
    expect(variableNames(installed)).toEqual(['Boot0042']);
    const secure = mergeVariables(withKeys, installed) ?? Buffer.alloc(0);
    expect(secure).toHaveLength(withKeys.length);
    // The list omits SecureBootEnable, which the template of OVMF 2026.08 does not have.
    expect(variableNames(secure)).toEqual(expect.arrayContaining(['PK', 'KEK', 'db', 'dbx', 'Boot0042']));
    // The result has each variable once.
    const names = variableNames(secure) ?? [];
    expect(new Set(names).size).toBe(names.length);
    const back = mergeVariables(empty, secure) ?? Buffer.alloc(0);
    expect(variableNames(back)).toContain('Boot0042');
    for (const name of ['PK', 'KEK', 'db', 'dbx', 'SecureBootEnable', 'certdb', 'CustomMode']) {
      expect(variableNames(back)).not.toContain(name);
    }
    expect(back.includes(Buffer.from('debian'))).toBe(true);
    // A second merge changes nothing.
    expect(mergeVariables(withKeys, back)?.equals(mergeVariables(withKeys, secure) ?? Buffer.alloc(0))).toBe(true);
  });

  it.each(['OVMF_VARS.fd', 'OVMF_VARS_4M.fd', 'OVMF_VARS_4M.ms.fd'])(
    'has all variables after a merge with %s, even if only the first message of the upload arrived',
    async (name) => {
      const template = await readFile(`/usr/share/OVMF/${name}`);
      const merge = (old: Buffer) => mergeVariables(template, old, { maxEnd: STREAM_CHUNK_BYTES });
      // The old variables fill the store up to its last byte.
      const roomBytes = template.readUInt32LE(template.readUInt16LE(48) + 16) - 28 - 60;
      const old = withVariable(await emptyOf(name), 'OldName', 'x'.repeat(roomBytes - 'OldName\0'.length * 2));
      old.writeUInt16LE(0, old.readUInt16LE(48) + 28);
      const merged = merge(withVariable(await emptyOf(name), 'Boot0042', 'debian')) ?? Buffer.alloc(0);
      const torn = Buffer.concat([merged.subarray(0, STREAM_CHUNK_BYTES), old.subarray(STREAM_CHUNK_BYTES)]);
      expect(variableNames(torn)).toEqual(variableNames(merged));
      expect(variableNames(torn)).toContain('Boot0042');
      expect(variableNames(merge(torn) ?? torn)?.toSorted()).toEqual(variableNames(merged)?.toSorted());
    },
  );

  it('is rejected if it has another layout, or no room for the keys', () => {
    expect(variableNames(Buffer.alloc(1024, 0xff))).toBeNull();
    expect(variableNames(Buffer.from('QFI\xfb', 'latin1'))).toBeNull();
    expect(mergeVariables(withKeys, withKeys.subarray(0, 1000))).toBeNull();
    expect(mergeVariables(withKeys, Buffer.alloc(withKeys.length))).toBeNull();
    const full = withVariable(empty, 'Boot0000', 'x'.repeat(260_000));
    expect(variableNames(full)).toEqual(['Boot0000']);
    expect(mergeVariables(empty, full)?.equals(full)).toBe(true);
    expect(mergeVariables(withKeys, full)).toBeNull();
    // The last 24 bytes of OVMF's store are in the second message of an upload.
    const fullest = withVariable(empty, 'Boot0000', 'x'.repeat(261_966));
    expect(mergeVariables(empty, fullest)?.equals(fullest)).toBe(true);
    expect(mergeVariables(empty, fullest, { maxEnd: STREAM_CHUNK_BYTES })).toBeNull();
    // A length beyond the end of the store.
    const broken = Buffer.from(full);
    broken.writeUInt32LE(0x7fffffff, broken.readUInt16LE(48) + 28 + 40);
    expect(variableNames(broken)).toBeNull();
  });
});
