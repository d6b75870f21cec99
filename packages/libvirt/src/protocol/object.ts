/**
 * libvirt's objects on the wire. They are values that name an object, not handles: nothing has to be freed, and an object that
 * is gone answers with an error.
 */
import { type Codec, int, string, struct, XdrError } from '../xdr.js';

const UUID_BYTES = 16;
const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** Sixteen bytes on the wire, `01234567-89ab-cdef-0123-456789abcdef` here: read in lower case, taken with or without hyphens. */
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

/** Names a domain. */
export interface DomainRef {
  readonly name: string;
  /** Canonical, lower case; libvirtd finds the domain by it alone. */
  readonly uuid: string;
  /** Number of the running instance, -1 while it is off. */
  readonly id: number;
}
export const domain: Codec<DomainRef> = struct({ name: string, uuid, id: int });

/** Names a storage pool. */
export interface StoragePoolRef {
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
}
export const storagePool: Codec<StoragePoolRef> = struct({ name: string, uuid });

/** Names a volume. */
export interface StorageVolumeRef {
  /** Name of its pool. */
  readonly pool: string;
  readonly name: string;
  /** Unique on the host; for files, the path. */
  readonly key: string;
}
export const storageVolume: Codec<StorageVolumeRef> = struct({ pool: string, name: string, key: string });

/** Names a network interface of the host. */
export interface InterfaceRef {
  /** `eth0`. */
  readonly name: string;
  readonly mac: string;
}
export const hostInterface: Codec<InterfaceRef> = struct({ name: string, mac: string });

/** Names a network. */
export interface NetworkRef {
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;
}
export const network: Codec<NetworkRef> = struct({ name: string, uuid });
