/** Authentication calls, which precede `connect.open`. */
import { array, int, nothing } from '../codec.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Types of authentication. @see remote_auth_type */
export const AuthType = { NONE: 0, SASL: 1, POLKIT: 2 } as const;

/** Calls for the list of authentication types and for polkit. */
export const authProcedures = procedures(PROGRAM.remote, 'auth', {
  list: { number: 66, args: nothing, result: array(int) },
  polkit: { number: 70, args: nothing, result: int },
});
