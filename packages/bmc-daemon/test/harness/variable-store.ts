/** A UEFI variable as EDK II writes it, to be put into a store by hand: what an installed system would have left there. */
const global = Buffer.from('61dfe48bca93d211aa0d00e098032b8c', 'hex');

/** The store of an empty master copy (OVMF_VARS_4M.fd) with one more variable, of the global vendor. */
export function withVariable(store: Buffer, name: string, data: string): Buffer {
  const text = Buffer.from(`${name}\0`, 'utf16le');
  const header = Buffer.alloc(60);
  header.writeUInt16LE(0x55aa, 0);
  header.writeUInt8(0x3f, 2);
  // Non-volatile, for the boot service and the system.
  header.writeUInt32LE(7, 4);
  header.writeUInt32LE(text.length, 36);
  header.writeUInt32LE(data.length, 40);
  global.copy(header, 44);
  const result = Buffer.from(store);
  // Behind the header of the volume and that of the store.
  Buffer.concat([header, text, Buffer.from(data)]).copy(result, result.readUInt16LE(48) + 28);
  return result;
}
