/**
 * Reads and merges the variable files of UEFI firmware in EDK II's layout (OVMF, AAVMF): a firmware
 * volume with a store of consecutive variables.
 * @see UEFI Platform Initialization specification 1.8, volume 3, 3.2.1 "EFI Firmware Volume"
 * @see https://github.com/tianocore/edk2/blob/master/MdeModulePkg/Include/Guid/VariableFormat.h
 */

/** One variable with its bytes. */
interface Variable {
  /** Vendor GUID in the byte order of the file, and the name. */
  readonly key: string;
  readonly vendor: string;
  readonly name: string;
  readonly attributes: number;
  /** Header, name and data, without padding. */
  readonly bytes: Buffer;
}

/** The part of a file that contains the variables. */
interface Store {
  /** Offset of the first variable in the file. */
  readonly start: number;
  /** Offset after the last byte of the store. */
  readonly end: number;
  readonly variables: readonly Variable[];
}

const volumeSignature = '_FVH';
/**
 * gEfiAuthenticatedVariableGuid. Stores with another GUID have shorter headers and no Secure Boot.
 */
const storeGuid = guid('aaf32c78-947b-439a-a180-2e144ec37792');
const storeHeaderBytes = 28;
const variableHeaderBytes = 60;
const startId = 0x55aa;
/** The state of a variable is a byte. Each transition to another state clears one bit. */
const added = 0x3f;
const addedAndBeingReplaced = 0x3e;
/** EFI_VARIABLE_TIME_BASED_AUTHENTICATED_WRITE_ACCESS. */
const authenticated = 0x20;

const global = guid('8be4df61-93ca-11d2-aa0d-00e098032b8c');
/** Vendors with variables for Secure Boot only: keys, enforcement, and signers. */
const securityVendors = new Set(
  [
    'd719b2cb-3d3a-4596-a3bc-dad00e67656f', // db, dbx, dbt
    'f0a30bc7-af08-4556-99c4-001009c93a44', // SecureBootEnable
    'c076ec0c-7028-4399-a072-71ee5c448b9f', // CustomMode
    '9073e4e0-60ec-4b6e-9903-4c223c260f3c', // VendorKeysNv
    'd9bee56e-75dc-49d9-b4d7-b534210f637a', // certdb
    'eaf3ad23-7feb-4b7c-9c11-5b4b1ae2c26d', // AuthVarKeyDatabase
  ].map(guid),
);

/**
 * Returns the file `template` with the variables of the file `old`, which are mostly boot entries.
 * Variables of Secure Boot (keys and enforcement) come from `template`. Signed variables of `old`
 * are dropped, because their signers would be unknown: `certdb`, the record of the signers, also comes
 * from `template`.
 * @param options `maxEnd`: no variable ends beyond this offset of the file, even if the store is
 *   longer.
 * @returns null if a file has another layout, the files differ in length, or the variables do not fit.
 */
export function mergeVariables(
  template: Buffer,
  old: Buffer,
  { maxEnd = Infinity }: { readonly maxEnd?: number } = {},
): Buffer | null {
  const [store, oldStore] = [readStore(template), readStore(old)];
  if (store === null || oldStore === null || template.length !== old.length) return null;
  const end = Math.min(store.end, maxEnd);
  const keptVariables = oldStore.variables.filter(
    (variable) => !isSecurity(variable) && (variable.attributes & authenticated) === 0,
  );
  const keptKeys = new Set(keptVariables.map(({ key }) => key));
  const templateVariables = store.variables.filter((variable) => isSecurity(variable) || !keptKeys.has(variable.key));
  const result = Buffer.from(template);
  result.fill(0xff, store.start, store.end);
  let offset = store.start;
  for (const { bytes } of [...templateVariables, ...keptVariables]) {
    if (offset + bytes.length > end) return null;
    bytes.copy(result, offset);
    offset = align(offset + bytes.length);
  }
  return result;
}

/** Returns the names of the variables in a file, for tests; null if the file has another layout. */
export function variableNames(file: Buffer): readonly string[] | null {
  return readStore(file)?.variables.map(({ name }) => name) ?? null;
}

function isSecurity({ vendor, name }: Variable): boolean {
  return securityVendors.has(vendor) || (vendor === global && /^(PK|KEK)(Default)?$/.test(name));
}

function readStore(file: Buffer): Store | null {
  if (file.length < 64 || file.toString('latin1', 40, 44) !== volumeSignature) return null;
  const storeStart = file.readUInt16LE(48);
  if (storeStart + storeHeaderBytes > file.length || file.toString('hex', storeStart, storeStart + 16) !== storeGuid)
    return null;
  const end = storeStart + file.readUInt32LE(storeStart + 16);
  if (end > file.length) return null;
  const start = align(storeStart + storeHeaderBytes);
  const variables = new Map<string, Variable & { readonly state: number }>();
  let offset = start;
  while (offset + variableHeaderBytes <= end && file.readUInt16LE(offset) === startId) {
    const nameBytes = file.readUInt32LE(offset + 36);
    const bytes = variableHeaderBytes + nameBytes + file.readUInt32LE(offset + 40);
    if (offset + bytes > end) return null;
    const state = file.readUInt8(offset + 2);
    const vendor = file.toString('hex', offset + 44, offset + 60);
    const name = file
      .toString('utf16le', offset + variableHeaderBytes, offset + variableHeaderBytes + nameBytes)
      .replace(/(?<!\0)\0+$/, '');
    const key = `${vendor} ${name}`;
    // A variable that is marked for replacement stays valid until the file has the new one.
    if (state === added || (state === addedAndBeingReplaced && variables.get(key)?.state !== added)) {
      const copy = Buffer.from(file.subarray(offset, offset + bytes));
      copy.writeUInt8(added, 2);
      variables.set(key, { key, vendor, name, state, attributes: file.readUInt32LE(offset + 4), bytes: copy });
    }
    offset = align(offset + bytes);
  }
  return { start, end, variables: [...variables.values()] };
}

function align(offset: number): number {
  return (offset + 3) & ~3;
}

/**
 * Returns the bytes of a GUID in hexadecimal, in file order: its first three parts are
 * little-endian.
 */
function guid(text: string): string {
  const [a = '', b = '', c = '', ...rest] = text.split('-');
  const reverse = (part: string): string => (part.match(/../g) ?? []).toReversed().join('');
  return reverse(a) + reverse(b) + reverse(c) + rest.join('');
}
