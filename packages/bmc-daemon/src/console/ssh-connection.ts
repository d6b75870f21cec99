/** One SSH client: its way in, its channels, and the end of both. */
import type { Socket } from 'node:net';
import type { AuthContext, Connection, ServerChannel, Session } from 'ssh2';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from '../auth/access.js';
import type { SystemRef } from '../drivers/driver.js';
import type { ConsoleHub } from './console-hub.js';
import { SshConsole } from './ssh-console.js';
import { privilegesOf, SshLogin, type SshUser } from './ssh-login.js';
import { readWish, type Wish } from './ssh-target.js';

export interface SshConnectionOptions {
  readonly client: Connection;
  readonly socket: Socket;
  readonly access: Pick<Access, 'accounts' | 'openSession' | 'sessions'>;
  readonly hub: ConsoleHub;
  /** The machines that it may name, by their last known names where the host does not answer. */
  readonly machines: () => Promise<readonly SystemRef[]>;
  /** The only one that there is for it: it has connected to this machine's own address. Null: it may choose. */
  readonly only: string | null;
  /** Takes a place among the consoles; undefined where there is none left. Gives it back when called. */
  readonly takePlace: () => (() => void) | undefined;
  /** Called when somebody has logged in. */
  readonly onReady: () => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

/** How often it is looked whether who is here may still be here. */
const LOOK_MS = 1_000;
/** For a connection without a console, such as that of a client that shares one for many. */
const IDLE_MS = 60_000;
/** For goodbyes to be read. */
const GOODBYE_MS = 300;
/** Of a client that has no use for so many. */
const MOST_CHANNELS = 16;
/**
 * Minimum packet size of a client; OpenSSH has 32 KiB. The library splits all output into packets of
 * the client's size: with 0 its loop never ends, and with a few bytes each costs a whole packet.
 */
const LEAST_PACKET_BYTES = 1024;
/** The library's record of a channel's other end, which its types do not declare. */
const otherEnd = z.object({ packetSize: z.number().min(LEAST_PACKET_BYTES) });
/**
 * Maximum number of unsent bytes of a connection. Consoles stop below it, so a client that exceeds it
 * sends requests and never reads the replies.
 */
const MOST_UNSENT_BYTES = 16 * 1024 * 1024;
/** Machines that are named to who names none. */
const MOST_NAMED = 50;

const REFUSED = 1;

export class SshConnection {
  readonly #options: SshConnectionOptions;
  readonly #consoles = new Set<SshConsole>();
  #channels = 0;
  #user: SshUser | undefined;
  #look: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: SshConnectionOptions) {
    this.#options = options;
    const { client, socket, log } = options;
    const address = socket.remoteAddress ?? '';
    const login = new SshLogin({
      access: options.access,
      asker: { address, gone: () => socket.destroyed },
      isMachine: async () => {
        const machines = await options.machines();
        return (name) => find(machines, name) !== undefined;
      },
      log,
      onUser: (user) => (this.#user = user),
      onTooMany: () => socket.destroy(),
    });
    client.on('authentication', (context: AuthContext) => {
      void login.answer(context).then(() => {
        // Let in too late, or not at all: the session is of no use to anybody.
        if (socket.destroyed) this.#endSession();
      });
    });
    client.on('ready', () => {
      options.onReady();
      this.#startIdling();
    });
    client.on('session', (accept, reject) => {
      if (this.#channels >= MOST_CHANNELS) {
        reject();
        return;
      }
      this.#channels += 1;
      this.#serve(accept());
    });
    // Of the protocol or the socket; both are closed by then.
    client.on('error', (error: Error) => log.debug('an SSH connection failed', { address, error: error.message }));
    socket.once('close', () => this.#cleanUp());
    socket.on('drain', () => {
      for (const console of this.#consoles) console.caughtUp();
    });
    this.#look = setInterval(() => this.#lookAgain(), LOOK_MS).unref();
  }

  /** Ends its consoles, which are told why, and then itself. */
  close(why: string): void {
    this.#endSession();
    for (const console of [...this.#consoles]) console.end(why);
    // A client whose last channel is closed leaves by itself, with the exit status that it was given.
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#options.client.end(), GOODBYE_MS).unref();
  }

  #serve(session: Session): void {
    let terminal = false;
    session.on('pty', (accept) => {
      terminal = true;
      // No reply is wanted by some clients, and then there is nothing to call.
      (accept as (() => void) | undefined)?.();
    });
    session.on('shell', (accept, reject) => this.#begin(accept, reject, null, terminal));
    session.on('exec', (accept, reject, { command }) => this.#begin(accept, reject, command, terminal));
    session.on('close', () => (this.#channels -= 1));
  }

  /** @param accept gives nothing where the channel has a console already: one is all that a channel can have (RFC 4254, 6.5). */
  #begin(
    accept: () => ServerChannel | undefined,
    reject: () => unknown,
    command: string | null,
    terminal: boolean,
  ): void {
    const channel = accept();
    if (channel === undefined) {
      reject();
      return;
    }
    if (!otherEnd.safeParse(channel.outgoing).success) {
      const { log, socket } = this.#options;
      log.debug('an SSH channel was closed: its packets are too small', { address: socket.remoteAddress });
      channel.close();
      return;
    }
    this.#open(channel, command, terminal).catch((error: unknown) => {
      const { log, socket } = this.#options;
      log.warn('opening a console failed', { address: socket.remoteAddress, error });
      channel.close();
    });
  }

  async #open(channel: ServerChannel, command: string | null, terminal: boolean): Promise<void> {
    const user = this.#user;
    if (user === undefined) {
      refuseChannel(channel, ['the session was ended'], terminal);
      return;
    }
    const end = { hasCome: false };
    channel.once('close', () => (end.hasCome = true)).on('error', () => undefined);
    const refuse = (...lines: readonly string[]): void => refuseChannel(channel, lines, terminal);
    const machines = await this.#options.machines();
    // Meanwhile the client may have gone, or have been logged out: nobody would ever give its place back.
    if (end.hasCome) return;
    if (this.#user !== user) {
      refuse('the session was ended');
      return;
    }
    const wish = this.#atHome(readWish(user.target, user.account, command));
    switch (wish.kind) {
      case 'refused':
        refuse(wish.why);
        return;
      case 'which':
        refuse(...which(user, machines));
        return;
      case 'console':
        break;
    }
    const machine = find(machines, wish.machine);
    if (machine === undefined) refuse(`there is no machine ${JSON.stringify(wish.machine)}`);
    else this.#connect(channel, machine, user, terminal);
  }

  /** At a machine's own address it need not be named. */
  #atHome(wish: Wish): Wish {
    const { only } = this.#options;
    return wish.kind === 'which' && only !== null ? { kind: 'console', machine: only } : wish;
  }

  #connect(channel: ServerChannel, machine: SystemRef, user: SshUser, terminal: boolean): void {
    const { access, hub, log, socket, takePlace } = this.#options;
    if (!mayUse(access, user)) {
      refuseChannel(channel, [`the role of ${user.account ?? 'this account'} has no privilege for consoles`], terminal);
      return;
    }
    const giveBack = takePlace();
    if (giveBack === undefined) {
      refuseChannel(channel, ['too many consoles are open'], terminal);
      return;
    }
    clearTimeout(this.#idle);
    const about = {
      machine: machine.name,
      account: user.account,
      address: socket.remoteAddress,
      session: user.session,
    };
    log.info('console opened', about);
    const console: SshConsole = new SshConsole({
      channel,
      unsentBytes: () => socket.writableLength,
      hub,
      machine,
      terminal,
      onEnd: (why) => {
        this.#consoles.delete(console);
        giveBack();
        log.info('console closed', { ...about, reason: why });
        if (this.#consoles.size === 0) this.#startIdling();
      },
    });
    this.#consoles.add(console);
  }

  /** Closes the connection if its session has ended, its role changed, or the client never reads. */
  #lookAgain(): void {
    const { access, socket, log } = this.#options;
    if (socket.writableLength > MOST_UNSENT_BYTES) {
      log.info('an SSH connection was closed: the client does not read', { address: socket.remoteAddress });
      socket.destroy();
      return;
    }
    const user = this.#user;
    if (user === undefined) return;
    if (access.sessions.find(user.session) === undefined) this.close('the session was ended');
    else if (this.#consoles.size > 0 && !mayUse(access, user))
      this.close('the role of the account has no privilege for consoles any more');
  }

  #startIdling(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#options.client.end(), IDLE_MS).unref();
  }

  #cleanUp(): void {
    clearInterval(this.#look);
    clearTimeout(this.#idle);
    for (const console of [...this.#consoles]) console.gone();
    clearTimeout(this.#idle);
    this.#endSession();
  }

  #endSession(): void {
    const user = this.#user;
    this.#user = undefined;
    if (user !== undefined) this.#options.access.sessions.end(user.session);
  }
}

/**
 * Who reads a console may see passwords, and who types is in front of the machine: both are for whoever may switch it off. As for
 * the log of what a console has said.
 */
function mayUse(access: Pick<Access, 'accounts'>, { account }: SshUser): boolean {
  return privilegesOf(access, account)?.has('ConfigureComponents') !== false;
}

/** @param id a UUID or a name; a name that is also some machine's UUID loses, as with Redfish. */
function find(machines: readonly SystemRef[], id: string): SystemRef | undefined {
  const lower = id.toLowerCase();
  return machines.find(({ uuid }) => uuid === lower) ?? machines.find(({ name }) => name === id);
}

function which({ account, target }: SshUser, machines: readonly SystemRef[]): readonly string[] {
  const who = account ?? target.account ?? '';
  const names = machines.map(({ name }) => name).toSorted();
  const rest = names.length - MOST_NAMED;
  return [
    `which console? ssh ${who}@HOST NAME, or ssh ${who}/NAME@HOST, with the name or the UUID of a machine:`,
    ...names.slice(0, MOST_NAMED),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ];
}

function refuseChannel(channel: ServerChannel, lines: readonly string[], terminal: boolean): void {
  channel.on('error', () => undefined);
  channel.resume();
  const text = lines.map((line) => `${line}${terminal ? '\r\n' : '\n'}`).join('');
  channel.stderr.write(text);
  channel.exit(REFUSED);
  channel.end();
}
