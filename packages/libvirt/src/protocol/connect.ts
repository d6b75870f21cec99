/** Calls about the connection and the host. */
import { array, int, nothing, optional, string, struct, uint } from '../codec.js';
import { flags, uhyperNumber } from './integer.js';
import { domain, network, storagePool } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';
import { typedParameters } from './typed-parameter.js';

/** Arguments of a list call. `needResults` 0 returns only the number of elements. */
const listArgs = struct({ needResults: int, flags });

/** Calls about the connection and the host, as in libvirt's remote_protocol.x. */
export const connectProcedures = procedures(PROGRAM.remote, 'connect', {
  open: { number: 1, args: struct({ name: optional(string), flags }), result: nothing },
  getType: { number: 3, args: nothing, result: string },
  getVersion: { number: 4, args: nothing, result: uhyperNumber },
  getCapabilities: { number: 7, args: nothing, result: string },
  numOfDomains: { number: 51, args: nothing, result: int },
  getHostname: { number: 59, args: nothing, result: string },
  supportsFeature: { number: 60, args: struct({ feature: int }), result: int },
  getUri: { number: 110, args: nothing, result: string },
  getLibVersion: { number: 157, args: nothing, result: uhyperNumber },
  getDomainCapabilities: {
    number: 342,
    args: struct({
      emulatorbin: optional(string),
      arch: optional(string),
      machine: optional(string),
      virttype: optional(string),
      flags,
    }),
    result: string,
  },
  listAllDomains: { number: 273, args: listArgs, result: struct({ domains: array(domain), count: uint }) },
  listAllStoragePools: { number: 281, args: listArgs, result: struct({ pools: array(storagePool), count: uint }) },
  listAllNetworks: { number: 283, args: listArgs, result: struct({ networks: array(network), count: uint }) },
  getAllDomainStats: {
    number: 344,
    args: struct({ domains: array(domain), stats: flags, flags }),
    result: array(struct({ domain, parameters: typedParameters })),
  },
});
