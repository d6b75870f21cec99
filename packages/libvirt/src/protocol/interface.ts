/** Calls about network interfaces of the host. */
import { string, struct } from '../codec.js';
import { flags } from './integer.js';
import { hostInterface } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Calls about network interfaces of the host, as in libvirt's remote_protocol.x. */
export const interfaceProcedures = procedures(PROGRAM.remote, 'interface', {
  lookupByName: { number: 128, args: struct({ name: string }), result: hostInterface },
  lookupByMacString: { number: 129, args: struct({ mac: string }), result: hostInterface },
  getXmlDesc: { number: 130, args: struct({ interface: hostInterface, flags }), result: string },
});
