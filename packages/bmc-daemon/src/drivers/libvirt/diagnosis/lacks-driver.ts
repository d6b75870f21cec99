/** Recognizes a libvirt whose driver for networks or for storage is not installed. */
import { isLibvirtError } from '@rackless/libvirt';

/**
 * Returns whether an error of a lookup means that the driver is not installed. libvirtd answers NO_SUPPORT. A libvirt
 * with one daemon for each driver reports that it cannot connect to the missing daemon. Other errors are failures.
 */
export function lacksDriver(error: unknown): boolean {
  if (isLibvirtError(error, 'NO_SUPPORT')) return true;
  if (isLibvirtError(error, 'INTERNAL_ERROR')) return error.message.endsWith('connection not open');
  return isLibvirtError(error, 'SYSTEM_ERROR') && /Failed to connect socket.*No such file/.test(error.message);
}
