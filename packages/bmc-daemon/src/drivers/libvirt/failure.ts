/** Translates errors of libvirt and of image servers into {@link DriverError}s. */
import { isLibvirtError, type ErrorCode } from '@rackless/libvirt';
import { ImageError } from '../../media/image-error.js';
import { DriverError, type DriverErrorKind } from '../driver-error.js';
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

/** Returns whether a start failed because libvirt ended the new QEMU process meanwhile. */
export const hasEndedAtStart = (error: unknown): boolean =>
  // libvirt has no error code for this case, so the text decides.
  error instanceof Error && /domain is no longer running/i.test(error.message);

/**
 * Converts an error to a {@link DriverError}. Returns a {@link DriverError} unchanged.
 * @param doing the action and its object, `starting machine demo`. The message continues with the text of the
 *   error. An {@link ImageError} keeps its own message, without `doing`.
 */
export function driverError(doing: string, error: unknown): DriverError {
  if (error instanceof DriverError) return error;
  if (error instanceof ImageError) return mediaFailure(error);
  if (isLibvirtError(error)) {
    // libvirt has no error code for a full disk, nor for a file that is too large, so the text decides.
    const full = /No space left on device|not enough free space|file too large|image size is too large/i.test(
      error.message,
    );
    // libvirt has no error code for a machine without a free bus address.
    const noPlace = /No more available PCI (slots|addresses)/i.test(error.message);
    // libvirt has no error code for a machine that another client renames, removes or stops at the
    // same time.
    const changed = /already defined with uuid|already being removed|terminating on signal \d+ from pid/.test(
      error.message,
    );
    const isConflict = changed || needsReset(error);
    const other = error.isRemote ? 'failed' : 'internal';
    const kind = full ? 'storageFull' : noPlace ? 'noPlace' : isConflict ? 'conflict' : (kinds[error.code] ?? other);
    return new DriverError(kind, `${doing}: ${oneLine(error.message)}`, { cause: error });
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
