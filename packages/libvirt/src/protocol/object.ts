/**
 * libvirt's objects on the wire. They are values that name an object, not handles: nothing has to be freed, and an object that
 * is gone answers with an error.
 */
import { type Codec, int, string, struct, type Value, XdrError } from '../xdr.js';

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

/** A domain; `id` is -1 while it is off. The daemon finds it by its UUID alone. */
export const domain = struct({ name: string, uuid, id: int });
export type DomainRef = Value<typeof domain>;

export const storagePool = struct({ name: string, uuid });
export type StoragePoolRef = Value<typeof storagePool>;

/** A volume: the name of its pool, its name in it, and its key, which is unique on the host (mostly its path). */
export const storageVolume = struct({ pool: string, name: string, key: string });
export type StorageVolumeRef = Value<typeof storageVolume>;

export const network = struct({ name: string, uuid });
export type NetworkRef = Value<typeof network>;
