import { describe, expect, it } from '@jest/globals';
import { XdrError, XdrReader, XdrWriter } from '../xdr.js';
import { authProcedures } from './auth.js';
import { connectProcedures } from './connect.js';
import { domainProcedures } from './domain.js';
import { domainEvents, eventProcedures } from './event.js';
import { uuid } from './object.js';
import { interfaceProcedures } from './interface.js';
import { networkProcedures } from './network.js';
import { nodeProcedures } from './node.js';
import { PROGRAM } from './procedure.js';
import { qemuProcedures } from './qemu.js';
import { storagePoolProcedures, storageVolumeProcedures } from './storage.js';

/** A call or an event of the protocol. */
interface Line {
  readonly name: string;
  readonly program: number;
  readonly number: number;
  readonly stream?: string;
}

const all: readonly Line[] = [
  ...Object.values<Line>(authProcedures),
  ...Object.values<Line>(connectProcedures),
  ...Object.values<Line>(domainProcedures),
  ...Object.values<Line>(eventProcedures),
  ...Object.values<Line>(domainEvents),
  ...Object.values<Line>(interfaceProcedures),
  ...Object.values<Line>(networkProcedures),
  ...Object.values<Line>(nodeProcedures),
  ...Object.values<Line>(qemuProcedures),
  ...Object.values<Line>(storagePoolProcedures),
  ...Object.values<Line>(storageVolumeProcedures),
];

/** Encodes a UUID. */
const bytes = (value: string): Buffer => {
  const writer = new XdrWriter();
  uuid.encode(writer, value);
  return Buffer.from(writer.finish());
};

describe('the protocol table', () => {
  it('contains each number only once per program, and each name only once', () => {
    expect(all.length).toBeGreaterThan(90);
    expect(new Set(all.map(({ program, number }) => `${program}:${number}`)).size).toBe(all.length);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  it('uses the names of libvirt without vir', () => {
    expect(domainProcedures.lookupByName.name).toBe('domainLookupByName');
    expect(storageVolumeProcedures.createXml.name).toBe('storageVolCreateXml');
    expect(qemuProcedures.monitorCommand).toEqual({
      name: 'domainQemuMonitorCommand',
      program: PROGRAM.qemu,
      number: 1,
      args: qemuProcedures.monitorCommand.args,
      result: qemuProcedures.monitorCommand.result,
    });
  });

  it('contains the direction of the stream for each call that opens one', () => {
    const streams = all.filter(({ stream }) => stream !== undefined).map(({ name, stream }) => [name, stream]);
    expect(Object.fromEntries(streams)).toEqual({
      domainOpenConsole: 'both',
      storageVolUpload: 'upload',
      storageVolDownload: 'download',
    });
  });

  it('encodes the arguments of a call as XDR', () => {
    const writer = new XdrWriter();
    domainProcedures.destroyFlags.args.encode(writer, {
      domain: { name: 'vm-1', uuid: '01234567-89ab-cdef-0123-456789abcdef', id: -1 },
      flags: 1,
    });
    expect(writer.finish().toString('hex')).toBe(
      '00000004' + '766d2d31' + '0123456789abcdef0123456789abcdef' + 'ffffffff' + '00000001',
    );
  });
});

describe('a UUID', () => {
  it('is encoded from upper case or without hyphens, and decoded to lower case with hyphens', () => {
    const canonical = '01234567-89ab-cdef-0123-456789abcdef';
    expect(uuid.decode(new XdrReader(bytes(canonical.toUpperCase())))).toBe(canonical);
    expect(uuid.decode(new XdrReader(bytes(canonical.replaceAll('-', ''))))).toBe(canonical);
  });

  it('is rejected if it is invalid', () => {
    expect(() => bytes('vm-1')).toThrow(XdrError);
  });
});
