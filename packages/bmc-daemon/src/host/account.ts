/** The account of this process. */
import { userInfo } from 'node:os';

/** A user of the host. */
export interface HostAccount {
  readonly uid: number;
  readonly name: string;
  /** Login shell, such as `/bin/bash`; null or absent: unknown. */
  readonly shell?: string | null;
}

/**
 * Returns the account of this process. If the account has no name, as in some containers, its number is
 * the name.
 */
export function thisAccount(): HostAccount {
  const uid = process.getuid?.() ?? 0;
  try {
    const { username, shell } = userInfo();
    return { uid, name: username, shell };
  } catch {
    return { uid, name: String(uid) };
  }
}
