/** Calls that only the QEMU driver has. */
import { string, struct } from '../xdr.js';
import { flags } from './integer.js';
import { domain } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

export const qemuProcedures = procedures(PROGRAM.qemu, 'domainQemu', {
  monitorCommand: { number: 1, args: struct({ domain, command: string, flags }), result: string },
});
