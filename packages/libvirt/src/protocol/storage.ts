/** Calls about storage pools and volumes. */
import { array, bool, int, nothing, string, struct, uint } from '../codec.js';
import { flags, uhyperNumber } from './integer.js';
import { storagePool, storageVolume, uuid } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

const poolOnly = struct({ pool: storagePool });
const poolFlags = struct({ pool: storagePool, flags });
const xmlFlags = struct({ xml: string, flags });

/** Calls about storage pools, as in libvirt's remote_protocol.x. */
export const storagePoolProcedures = procedures(PROGRAM.remote, 'storagePool', {
  lookupByName: { number: 84, args: struct({ name: string }), result: storagePool },
  lookupByUuid: { number: 85, args: struct({ uuid }), result: storagePool },
  lookupByVolume: { number: 86, args: struct({ volume: storageVolume }), result: storagePool },
  lookupByTargetPath: { number: 391, args: struct({ path: string }), result: storagePool },

  createXml: { number: 76, args: xmlFlags, result: storagePool },
  defineXml: { number: 77, args: xmlFlags, result: storagePool },
  create: { number: 78, args: poolFlags, result: nothing },
  build: { number: 79, args: poolFlags, result: nothing },
  destroy: { number: 80, args: poolOnly, result: nothing },
  undefine: { number: 82, args: poolOnly, result: nothing },
  refresh: { number: 83, args: poolFlags, result: nothing },

  // XDR encodes the state, an unsigned char, as four bytes.
  getInfo: {
    number: 87,
    args: poolOnly,
    result: struct({ state: uint, capacity: uhyperNumber, allocation: uhyperNumber, available: uhyperNumber }),
  },
  getXmlDesc: { number: 88, args: poolFlags, result: string },
  getAutostart: { number: 89, args: poolOnly, result: bool },
  setAutostart: { number: 90, args: struct({ pool: storagePool, autostart: bool }), result: nothing },
  isActive: { number: 154, args: poolOnly, result: bool },
  isPersistent: { number: 155, args: poolOnly, result: bool },
  listAllVolumes: {
    number: 282,
    args: struct({ pool: storagePool, needResults: int, flags }),
    result: struct({ volumes: array(storageVolume), count: uint }),
  },
});

const volumeOnly = struct({ volume: storageVolume });
const volumeFlags = struct({ volume: storageVolume, flags });
const volumeInfo = struct({ type: int, capacity: uhyperNumber, allocation: uhyperNumber });
/** Part of a volume in bytes. Length 0: the rest of the volume. */
const volumeRange = struct({ volume: storageVolume, offset: uhyperNumber, length: uhyperNumber, flags });

/** Calls about volumes, as in libvirt's remote_protocol.x. */
export const storageVolumeProcedures = procedures(PROGRAM.remote, 'storageVol', {
  lookupByName: { number: 95, args: struct({ pool: storagePool, name: string }), result: storageVolume },
  lookupByKey: { number: 96, args: struct({ key: string }), result: storageVolume },
  lookupByPath: { number: 97, args: struct({ path: string }), result: storageVolume },

  createXml: { number: 93, args: struct({ pool: storagePool, xml: string, flags }), result: storageVolume },
  createXmlFrom: {
    number: 125,
    args: struct({ pool: storagePool, xml: string, source: storageVolume, flags }),
    result: storageVolume,
  },
  delete: { number: 94, args: volumeFlags, result: nothing },
  resize: { number: 260, args: struct({ volume: storageVolume, capacity: uhyperNumber, flags }), result: nothing },

  getInfo: { number: 98, args: volumeOnly, result: volumeInfo },
  getInfoFlags: { number: 378, args: volumeFlags, result: volumeInfo },
  getXmlDesc: { number: 99, args: volumeFlags, result: string },
  getPath: { number: 100, args: volumeOnly, result: string },

  upload: { number: 208, args: volumeRange, result: nothing, stream: 'upload' },
  download: { number: 209, args: volumeRange, result: nothing, stream: 'download' },
});
