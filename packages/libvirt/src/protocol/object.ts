/**
 * Encodings of references to libvirt's objects. A reference identifies an object. It is no handle,
 * so there is nothing to free.
 */
import { XdrError } from '../xdr.js';
import { type Codec, int, string, struct } from '../codec.js';

const UUID_BYTES = 16;
const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/**
 * A UUID: 16 bytes in a message, a string in this API. Reads it as lower case with hyphens. Accepts
 * upper case and missing hyphens when it writes, and throws an XdrError for other texts.
 */
export const uuid: Codec<string> = {
  encode: (writer, value) => {
    if (!uuidPattern.test(value)) throw new XdrError(`"${value}" is not a UUID`);
    writer.fixed(Buffer.from(value.replaceAll('-', ''), 'hex'));
  },
  decode: (reader) => {
    const hex = reader.fixed(UUID_BYTES).toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  },
};

/** Identifies a domain. */
export interface DomainRef {
  readonly name: string;
  /** Canonical, lower case. libvirtd uses only the UUID to find the domain. */
  readonly uuid: string;
  /** Id of the running domain; -1 if it is not running. */
  readonly id: number;
}
/** A domain. */
export const domain: Codec<DomainRef> = struct({ name: string, uuid, id: int });

/** Identifies a storage pool. */
export interface StoragePoolRef {
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
}
/** A storage pool. */
export const storagePool: Codec<StoragePoolRef> = struct({ name: string, uuid });

/** Identifies a volume. */
export interface StorageVolumeRef {
  /** Name of its pool. */
  readonly pool: string;
  readonly name: string;
  /** Unique key on the host; for files, the path. */
  readonly key: string;
}
/** A volume. */
export const storageVolume: Codec<StorageVolumeRef> = struct({ pool: string, name: string, key: string });

/** Identifies a network interface of the host. */
export interface InterfaceRef {
  /** For example `eth0`. */
  readonly name: string;
  readonly mac: string;
}
/** A network interface of the host. */
export const hostInterface: Codec<InterfaceRef> = struct({ name: string, mac: string });

/** Identifies a network. */
export interface NetworkRef {
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
}
/** A network. */
export const network: Codec<NetworkRef> = struct({ name: string, uuid });
