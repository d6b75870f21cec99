/** Adds a VNC display to a definition. */
import { randomBytes } from 'node:crypto';
import { DriverError } from '../../driver-error.js';
import type { DefinitionEdit } from '../xml/definition-edit.js';
import { child } from '../xml/tree.js';

/** Bytes of a password. They give 8 characters, and VNC ignores further characters. */
const PASSWORD_BYTES = 6;

/**
 * Adds a VNC display with a new password. Does nothing if the definition has a VNC display. libvirt
 * adds a graphics card if the machine has none.
 *
 * The display listens on a TCP port of its host, because this service has no access to libvirt's VNC
 * sockets, which belong to another user. The password protects the port from other users of the
 * host.
 * @throws {DriverError} internal, if the definition has no `<devices>`.
 */
export function addDisplay({ domain, xml }: DefinitionEdit): void {
  if (domain.hasVncDisplay) return;
  const devices = child(xml.root, 'devices');
  if (devices === undefined) throw new DriverError('internal', 'adding a display: the definition has no <devices>');
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  xml.insert(devices, [
    `<graphics type='vnc' port='-1' autoport='yes' passwd='${password}'>`,
    `  <listen type='address' address='127.0.0.1'/>`,
    '</graphics>',
  ]);
}
