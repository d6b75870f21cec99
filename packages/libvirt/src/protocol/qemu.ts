/** Calls of the QEMU driver. */
import { string, struct } from '../codec.js';
import { flags } from './integer.js';
import { domain } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Calls of the QEMU driver, as in libvirt's qemu_protocol.x. */
export const qemuProcedures = procedures(PROGRAM.qemu, 'domainQemu', {
  monitorCommand: { number: 1, args: struct({ domain, command: string, flags }), result: string },
});
