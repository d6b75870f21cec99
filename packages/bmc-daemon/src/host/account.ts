/** The account of this process. */
import { userInfo } from 'node:os';

/** A user of the host. */
export interface Account {
  readonly uid: number;
  readonly name: string;
}

/**
 * Returns the account of this process. Without a name, as in some containers, its number is its
 * name.
 */
export function thisAccount(): Account {
  const uid = process.getuid?.() ?? 0;
  try {
    return { uid, name: userInfo().username };
  } catch {
    return { uid, name: String(uid) };
  }
}
