/** Adds a UEFI variable to an empty store in the format of EDK II, as an operating system does. */
const globalVendorGuid = Buffer.from('61dfe48bca93d211aa0d00e098032b8c', 'hex');

/** Returns a copy of an empty store (OVMF_VARS_4M.fd) with a variable of the global vendor GUID. */
export function withVariable(store: Buffer, name: string, data: string): Buffer {
  const text = Buffer.from(`${name}\0`, 'utf16le');
  const header = Buffer.alloc(60);
  header.writeUInt16LE(0x55aa, 0);
  header.writeUInt8(0x3f, 2);
  // Attributes: non-volatile, boot service access, runtime access.
  header.writeUInt32LE(7, 4);
  header.writeUInt32LE(text.length, 36);
  header.writeUInt32LE(data.length, 40);
  globalVendorGuid.copy(header, 44);
  const result = Buffer.from(store);
  // The variable follows the headers of the firmware volume and of the variable store.
  Buffer.concat([header, text, Buffer.from(data)]).copy(result, result.readUInt16LE(48) + 28);
  return result;
}
