/** UUIDs that are derived from names, so that the same name always has the same UUID. */
import { createHash } from 'node:crypto';

/** Returns the UUID of a name, version 5 (RFC 9562 §5.5). @param namespace 16 bytes. */
export function nameUuid(namespace: Buffer, name: string): string {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
