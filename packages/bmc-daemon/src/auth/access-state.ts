/**
 * Reads and writes `access.json` of EMULATOR_STATE_DIR: roles, locks and account settings, which a
 * password file cannot contain. A damaged file stops the start: without it, every user of the
 * password file would be an administrator.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import { openStateFile, type StateFile } from '../state-file.js';
import { privilegeNames } from './privileges.js';
import { administrator, ROLE_ID } from './roles.js';

/** When a lock ends by itself, milliseconds since 1970; null: when somebody unlocks it. */
const lockedUntil = z.number().nullable();

const account = z.object({
  user: z.string(),
  roleId: z.string(),
  enabled: z.boolean(),
  passwordChangeRequired: z.boolean(),
  lockedUntil: lockedUntil.optional(),
});

const settings = z.object({
  /** Wrong passwords until an account is locked; 0: never. */
  lockoutThreshold: z.int().min(0),
  /** 0: accounts are not locked. */
  lockoutSeconds: z.int().min(0),
  /** A wrong password is forgotten after so long without another. */
  lockoutResetSeconds: z.int().min(0),
  /** False: locked accounts stay locked, and wrong passwords are forgotten only after a right one. */
  lockoutResets: z.boolean(),
  minPasswordLength: z.int().min(1),
  httpBasicAuth: z.enum(['Enabled', 'Unadvertised', 'Disabled']),
  sessionTimeoutSeconds: z.int().min(30).max(86_400),
});

const schema = z.object({
  accounts: z.array(account),
  roles: z.array(z.object({ id: z.string().regex(ROLE_ID), privileges: z.array(z.enum(privilegeNames)) })),
  settings,
});

/** What is kept of one account. */
export type AccountState = Readonly<z.infer<typeof account>>;
/** Of AccountService and SessionService. */
export type AccessSettings = Readonly<z.infer<typeof settings>>;
export interface AccessState {
  readonly accounts: readonly AccountState[];
  readonly roles: readonly { readonly id: string; readonly privileges: readonly (typeof privilegeNames)[number][] }[];
  readonly settings: AccessSettings;
}

/** Where there is no file yet: every account is an unlocked administrator's. */
export const initialAccessState: AccessState = {
  accounts: [],
  roles: [],
  settings: {
    // The attempt queue slows guessers down. A lock would let any stranger shut the administrator out.
    lockoutThreshold: 0,
    lockoutSeconds: 300,
    lockoutResetSeconds: 300,
    lockoutResets: true,
    minPasswordLength: 8,
    httpBasicAuth: 'Enabled',
    sessionTimeoutSeconds: 1800,
  },
};

/** An account that nothing is kept of: it was made with `htpasswd`. */
export function unlisted(user: string): AccountState {
  return { user, roleId: administrator, enabled: true, passwordChangeRequired: false };
}

/** @throws {StateFileError} where the file can not be read or is damaged. */
export function openAccessState(folder: string, log: Pick<Log, 'warn' | 'error'>): StateFile<AccessState> {
  // The arrays of zod's type are writable, ours are not: a file that is read is nobody's to write to.
  return openStateFile<AccessState>({
    folder,
    name: 'access',
    schema,
    initial: initialAccessState,
    log,
    broken: 'refuse',
  });
}
