/** Which machine an SSH client means, by its user name and its command: the pure part of logging in. */

/** A user name, taken apart. */
export interface Target {
  /** Who logs in, where the name says so. */
  readonly account: string | null;
  /** UUID or name of the machine, where the name says so. */
  readonly machine: string | null;
}

/**
 * `ACCOUNT/MACHINE`, or one of the two; which of them a name without a slash is, `isMachine` tells. No machine has a slash in its
 * name, with libvirt; an account may, so the last one counts.
 */
export function readUserName(name: string, isMachine: (name: string) => boolean): Target {
  const slash = name.lastIndexOf('/');
  if (slash >= 0) return { account: name.slice(0, slash), machine: name.slice(slash + 1) };
  return isMachine(name) ? { account: null, machine: name } : { account: name, machine: null };
}

/** What a client wants after it has logged in. */
export type Wish =
  | { readonly kind: 'console'; readonly machine: string }
  /** It has named no machine. */
  | { readonly kind: 'which' }
  /** It wants something that is no console, for a sentence to say. */
  | { readonly kind: 'refused'; readonly why: string };

/** What file transfers send as their command. */
const TRANSFER = /^(?:scp|sftp-server|sftp|rsync)(?:\s|$)|\/sftp-server/;

/**
 * @param target of the user name.
 * @param account who has logged in; null where nobody is asked.
 * @param command null for a shell.
 */
export function readWish({ machine }: Target, account: string | null, command: string | null): Wish {
  const word = command?.trim() ?? '';
  if (word === '') return machine === null ? { kind: 'which' } : { kind: 'console', machine };
  if (TRANSFER.test(word)) return { kind: 'refused', why: 'this is a serial console: it takes no files' };
  // `ssh admin@host NAME`, whatever else may be called admin.
  if (machine === null || machine === account) return { kind: 'console', machine: word };
  return { kind: 'refused', why: `this is the serial console of ${machine}: it runs no commands` };
}
