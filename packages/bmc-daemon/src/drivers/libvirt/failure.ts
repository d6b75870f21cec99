/** Translates errors of libvirt and of image servers into {@link DriverError}s. */
import { isLibvirtError, type ErrorCode, type LibvirtError } from '@rackless/libvirt';
import { ImageError } from '../../media/image-error.js';
import { DriverError, isDriverError, type DriverErrorKind } from '../driver-error.js';
import { mediaFailure } from '../media-failure.js';

const kinds: Partial<Record<ErrorCode, DriverErrorKind>> = {
  NO_DOMAIN: 'notFound',
  CALL_TIMEOUT: 'unavailable',
  NOT_CONNECTED: 'unavailable',
  CONNECTION_LOST: 'unavailable',
  LINK_CLOSED: 'unavailable',
  CALL_ABORTED: 'unavailable',
  // libvirt waits at most 30 s for the lock of a machine whose QEMU hangs.
  OPERATION_TIMEOUT: 'unavailable',
  AGENT_UNRESPONSIVE: 'unavailable',
  OPERATION_INVALID: 'conflict',
  RESOURCE_BUSY: 'conflict',
  BLOCK_COPY_ACTIVE: 'conflict',
  // Another client has created the machine, removed the device, or canceled the job of the machine.
  DOM_EXIST: 'conflict',
  DEVICE_MISSING: 'conflict',
  OPERATION_ABORTED: 'conflict',
  NO_SUPPORT: 'unsupported',
  CONFIG_UNSUPPORTED: 'unsupported',
  ARGUMENT_UNSUPPORTED: 'unsupported',
  OPERATION_UNSUPPORTED: 'unsupported',
  OPERATION_DENIED: 'unsupported',
  ACCESS_DENIED: 'unsupported',
};

/** Returns whether QEMU cannot resume a paused guest, because the guest stopped after an error or has shut down. */
export const needsReset = (error: unknown): boolean =>
  // libvirt has no error code for this case, and reports the same state as for a guest that a user paused. So the text
  // decides.
  error instanceof Error && /Resetting the Virtual Machine is required/i.test(error.message);

/**
 * Returns whether libvirt rejected a call because of the state of the machine, for example a start because the machine
 * runs already.
 */
export const isStateConflict = (error: unknown): boolean =>
  isDriverError(error, 'conflict') && isLibvirtError(error.cause, 'OPERATION_INVALID');

/** Returns whether a start failed because libvirt ended the new QEMU process meanwhile. */
export const hasEndedAtStart = (error: unknown): boolean =>
  // libvirt has no error code for this case, so the text decides.
  error instanceof Error && /domain is no longer running/i.test(error.message);

/**
 * Texts of libvirt for which libvirt has no error code of its own, with the kind of each. The first that matches
 * decides.
 */
const kindsOfTexts: readonly (readonly [RegExp, DriverErrorKind])[] = [
  // A full disk, or a file that is too large.
  [/No space left on device|not enough free space|file too large|image size is too large/i, 'storageFull'],
  // A machine without a free bus address.
  [/No more available PCI (slots|addresses)/i, 'noPlace'],
  // Another client renames, removes or stops the machine at the same time.
  [/already (defined|exists) with uuid|already being removed|terminating on signal \d+ from pid/, 'conflict'],
  // Another client has removed or added the device.
  [/disk '[^']*' not found|disk [^ ]* not found|target \S+ already exists|Duplicate device ID/i, 'conflict'],
  // QEMU has ended while libvirt waited for it.
  [/domain is no longer running|guest (unexpectedly quit|crashed while)|QEMU monitor was closed/i, 'conflict'],
  [/Unable to (read from|write to) monitor|End of file.* monitor/i, 'conflict'],
  [/connect to monitor socket: (Connection refused|No such file)/i, 'conflict'],
];

/** The texts of libvirt about a QEMU that ends at its start. QEMU's own messages follow after a colon. */
const ENDED_QEMU =
  /(?:process exited while connecting to monitor|qemu unexpectedly closed the monitor)(?::([\s\S]*))?$/i;
/** Lines of QEMU's log that are no errors. */
const HARMLESS_LINE = /\bwarning: |char device redirected to |^\s*$/;

/** Returns whether QEMU has ended at its start without an error message, because another program ended it. */
function hasEndedSilently(text: string): boolean {
  const match = ENDED_QEMU.exec(text);
  return match !== null && (match[1] ?? '').split('\n').every((line) => HARMLESS_LINE.test(line));
}

function kindOf(error: LibvirtError): DriverErrorKind {
  if (needsReset(error)) return 'conflict';
  const ofText = kindsOfTexts.find(([expression]) => expression.test(error.message))?.[1];
  return ofText ?? kinds[error.code] ?? (error.isRemote ? 'failed' : 'internal');
}

/**
 * Converts an error to a {@link DriverError}. Returns a {@link DriverError} unchanged.
 * @param doing the action and its object, `starting machine demo`. The message continues with the text of the
 *   error. An {@link ImageError} keeps its own message, without `doing`.
 */
export function driverError(doing: string, error: unknown): DriverError {
  if (error instanceof DriverError) return error;
  if (error instanceof ImageError) return mediaFailure(error);
  if (isLibvirtError(error)) {
    const text = `${doing}: ${oneLine(error.message)}`;
    if (!hasEndedSilently(error.message)) return new DriverError(kindOf(error), text, { cause: error });
    const hint = 'QEMU ended without an error, so another program may have ended it';
    return new DriverError('conflict', `${text}; ${hint}`, { cause: error });
  }
  return new DriverError('internal', `${doing}: ${error instanceof Error ? oneLine(error.message) : 'failed'}`, {
    cause: error,
  });
}

/** Runs one step, and converts its error. @throws {DriverError} see {@link driverError}. */
export async function attempt<Result>(doing: string, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw driverError(doing, error);
  }
}

/** Returns a text of libvirt without line breaks. */
export const oneLine = (message: string): string => message.replaceAll(/(?<!\s)\s*\n\s*/g, ' ').trim();
