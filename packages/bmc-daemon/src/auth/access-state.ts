/**
 * Reads and writes `access.json` of EMULATOR_STATE_DIR: roles, settings and the state of accounts,
 * which a password file cannot contain. A damaged `access.json` prevents the start: without the
 * stored roles, every user of the password file would be an administrator.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { openStateFile, type StateFile } from '../state-file.js';
import { privilegeNames } from '../redfish/privileges.js';
import { administrator, ROLE_ID } from './roles.js';

/** When the lock ends, in milliseconds since 1970; null: only an administrator ends it. Absent: there is no lock. */
const lockedUntil = z.number().nullable();

const account = z.object({
  user: z.string(),
  roleId: z.string(),
  enabled: z.boolean(),
  passwordChangeRequired: z.boolean(),
  lockedUntil: lockedUntil.optional(),
});

const settings = z.object({
  /** Number of wrong passwords that locks an account; 0: the service never locks accounts. */
  lockoutThreshold: z.int().min(0),
  /**
   * Length of a new lock; 0: no locks. If `lockoutResets` is false, new locks never end, and this value has no effect
   * on them.
   */
  lockoutSeconds: z.int().min(0),
  /** After this time without a wrong password, the count starts again; ignored if `lockoutResets` is false. */
  lockoutResetSeconds: z.int().min(0),
  /**
   * The state file's name of AccountLockoutCounterResetEnabled. False: new locks never end
   * by themselves, and only a right password or an unlock resets the count.
   */
  lockoutResets: z.boolean(),
  minPasswordLength: z.int().min(1),
  httpBasicAuth: z.enum(['Enabled', 'Unadvertised', 'Disabled']),
  sessionTimeoutSeconds: z.int().min(30).max(86_400),
});

const role = z.object({ id: z.string().regex(ROLE_ID), privileges: z.array(z.enum(privilegeNames)) });

/** The schema of the state. It keeps members that a newer version of the daemon has added. */
export const accessStateSchema: z.ZodType<AccessState> = z
  .object({ accounts: z.array(account.loose()), roles: z.array(role.loose()), settings: settings.loose() })
  .loose();

/** The stored state of one account. */
export type AccountState = Readonly<z.infer<typeof account>>;
/** The settings of AccountService and SessionService. */
export type AccessSettings = Readonly<z.infer<typeof settings>>;
/** The accounts, roles and settings that are stored in EMULATOR_STATE_DIR. */
export interface AccessState {
  readonly accounts: readonly AccountState[];
  readonly roles: readonly { readonly id: string; readonly privileges: readonly (typeof privilegeNames)[number][] }[];
  readonly settings: AccessSettings;
}

/** The state without a file: every account is an unlocked administrator. */
export const initialAccessState: AccessState = {
  accounts: [],
  roles: [],
  settings: {
    // No lock by default: `AttemptQueue` delays clients that guess passwords, and with locks any
    // client could lock out the administrator.
    lockoutThreshold: 0,
    lockoutSeconds: 300,
    lockoutResetSeconds: 300,
    lockoutResets: true,
    minPasswordLength: 8,
    httpBasicAuth: 'Enabled',
    sessionTimeoutSeconds: 1800,
  },
};

/**
 * Returns the state of an account without an entry in the state file. `htpasswd` creates such
 * accounts.
 */
export function defaultState(user: string): AccountState {
  return { user, roleId: administrator, enabled: true, passwordChangeRequired: false };
}

/**
 * Opens the state file.
 * @throws {StateFileError} if the file is unreadable or damaged.
 */
export function openAccessState(folder: string, log: Pick<Log, 'warn' | 'error'>): StateFile<AccessState> {
  // The explicit type argument makes the arrays read-only; zod's are not.
  return openStateFile<AccessState>({
    folder,
    name: 'access',
    schema: accessStateSchema,
    initial: initialAccessState,
    log,
    broken: 'refuse',
  });
}
