import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serviceUuid } from './service-uuid.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let folder: string;
let warnings: string[];
const recordWarning = (message: string) => warnings.push(message);
const log = { warn: recordWarning, error: recordWarning };

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'bmc-uuid-'));
  warnings = [];
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('the UUID of the service', () => {
  it('is derived from the machine id without revealing it, and differs for each service and host', () => {
    const machineIdFile = path.join(folder, 'machine-id');
    const id = '0123456789abcdef0123456789abcdef';
    writeFileSync(machineIdFile, `${id}\n`);
    const stateDir = path.join(folder, 'state');
    const make = (service: string) => serviceUuid({ service, stateDir, machineIdFile, log });
    expect(make('a')).toMatch(UUID);
    expect(make('a')).toBe(make('a'));
    expect(make('b')).not.toBe(make('a'));
    expect(id).not.toContain(make('a').slice(0, 8));
    const first = make('a');
    writeFileSync(machineIdFile, 'f'.repeat(32));
    expect(make('a')).not.toBe(first);
    expect(existsSync(stateDir)).toBe(false);
  });

  it('is stored in the state folder if the host has no machine id', () => {
    const stateDir = path.join(folder, 'deep', 'state');
    const options = { service: 'a', stateDir, machineIdFile: path.join(folder, 'none'), log };
    const made = serviceUuid(options);
    expect(made).toMatch(UUID);
    expect(serviceUuid(options)).toBe(made);
    expect(readFileSync(path.join(stateDir, 'service-uuid'), 'utf8')).toBe(`${made}\n`);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['no UUID', Buffer.from('no UUID')],
    ['no UTF-8', Buffer.from([0xff, 0x0a])],
  ])('is replaced if its file is damaged (%s); the damaged file is renamed, with a warning', (_what, bytes) => {
    const file = path.join(folder, 'service-uuid');
    writeFileSync(file, bytes);
    const made = serviceUuid({ service: 'a', stateDir: folder, machineIdFile: path.join(folder, 'none'), log });
    expect([readFileSync(file, 'utf8'), readFileSync(`${file}.broken`)]).toEqual([`${made}\n`, bytes]);
    expect(warnings).toEqual([`${file} is damaged: it was renamed to ${file}.broken, and the service has a new UUID`]);
  });

  it('causes a warning that it will change at the next restart if it cannot be stored', () => {
    writeFileSync(path.join(folder, 'file'), '');
    const stateDir = path.join(folder, 'file', 'state');
    expect(serviceUuid({ service: 'a', stateDir, machineIdFile: path.join(folder, 'none'), log })).toMatch(UUID);
    expect(warnings).toEqual([
      `storing the service's UUID in ${stateDir}/service-uuid failed: it will change at the next restart`,
    ]);
  });
});
