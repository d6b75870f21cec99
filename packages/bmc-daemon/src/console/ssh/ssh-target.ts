/** Finds the machine that an SSH client wants, from its user name and its command. */

/** A parsed user name. */
export interface Target {
  /** The account, if the name contains it. */
  readonly account: string | null;
  /** The machine's UUID or name, if the user name contains it. */
  readonly machine: string | null;
}

/**
 * Parses `ACCOUNT/MACHINE`, `ACCOUNT` or `MACHINE`. `isMachine` decides whether a name without a
 * slash is a machine. The last slash separates the two, because libvirt allows no slash in a
 * machine's name, but an account may have one.
 */
export function readUserName(name: string, isMachine: (name: string) => boolean): Target {
  const slash = name.lastIndexOf('/');
  if (slash >= 0) return { account: name.slice(0, slash), machine: name.slice(slash + 1) };
  return isMachine(name) ? { account: null, machine: name } : { account: name, machine: null };
}

/** The request of a client after its login. */
export type ConsoleRequest =
  | { readonly kind: 'console'; readonly machine: string }
  /** The client names no machine. */
  | { readonly kind: 'which' }
  /** The client requests no console; `why` is a sentence for the client. */
  | { readonly kind: 'refused'; readonly why: string };

/** The commands of file transfers. */
const TRANSFER = /^(?:scp|sftp-server|sftp|rsync)(?:\s|$)|\/sftp-server/;

/**
 * Decides what a client wants.
 * @param target the parsed user name.
 * @param account the account; null without accounts.
 * @param command null for a shell.
 */
export function readRequest({ machine }: Target, account: string | null, command: string | null): ConsoleRequest {
  const word = command?.trim() ?? '';
  if (word === '') return machine === null ? { kind: 'which' } : { kind: 'console', machine };
  if (TRANSFER.test(word)) return { kind: 'refused', why: 'this is a serial console: it does not accept files' };
  // In `ssh admin@host NAME`, `admin` is the account, even if a machine has the same name.
  if (machine === null || machine === account) return { kind: 'console', machine: word };
  return { kind: 'refused', why: `this is the serial console of ${machine}: it runs no commands` };
}
