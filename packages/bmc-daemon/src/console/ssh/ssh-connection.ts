/** Serves one SSH client: its login, its channels, and their end. */
import type { Socket } from 'node:net';
import type { AuthContext, Connection, ServerChannel, Session } from 'ssh2';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Logins } from '../../offers/logins.js';
import { matching } from '../../drivers/by-machine.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import type { ConsoleHub } from '../console-hub.js';
import { clientName } from '../console-keyboard.js';
import { SshConsole } from './ssh-console.js';
import { privilegesOf, SshLogin, type SshUser } from './ssh-login.js';
import { readRequest, type ConsoleRequest } from './ssh-target.js';
import { correctWindow } from './ssh-window.js';

/** Options of {@link SshConnection}. */
export interface SshConnectionOptions {
  readonly client: Connection;
  readonly socket: Socket;
  readonly access: Pick<Logins, 'accounts' | 'openSession' | 'sessions'>;
  readonly hub: ConsoleHub;
  /** Returns the machines that the client may open. If the host does not answer, returns the last known list. */
  readonly machines: () => Promise<readonly SystemRef[]>;
  /** UUID of the machine whose own address the client connected to; null if the client may choose. */
  readonly fixedMachine: string | null;
  /** Reserves a place among the consoles; undefined if none is free. The returned function releases it. */
  readonly reserve: () => (() => void) | undefined;
  /** Called after the login. */
  readonly onReady: () => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
}

/** The interval of privilege checks. */
const CHECK_MS = 1_000;
/** The idle limit of a connection without a console, such as an OpenSSH master connection. */
const IDLE_MS = 60_000;
/** Time for the client to read the last message. */
const GOODBYE_MS = 300;
/** Maximum number of channels of a connection. */
const MAX_CHANNELS = 16;
/**
 * Minimum packet size of a client; OpenSSH has 32 KiB. The library splits all output into packets of the client's size.
 * With size 0, the library's loop never ends; with a small size, each packet has only a few bytes.
 */
const MIN_PACKET_BYTES = 1024;
/** The library's record of a channel's other end, which its types do not declare. */
const otherEnd = z.object({ packetSize: z.number().min(MIN_PACKET_BYTES) });
/**
 * Maximum number of unsent bytes of a connection. The output of consoles stops below this number, so a client that
 * exceeds it sends requests and never reads the replies.
 */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
/** Maximum number of machines in the list for a client that names none. */
const MAX_NAMED = 50;

const REFUSED_EXIT_STATUS = 1;

/** One connection. When its socket closes, it ends its consoles and its session. */
export class SshConnection {
  readonly #options: SshConnectionOptions;
  readonly #consoles = new Set<SshConsole>();
  #channels = 0;
  #user: SshUser | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: SshConnectionOptions) {
    this.#options = options;
    const { client, socket, log } = options;
    const address = socket.remoteAddress ?? '';
    const login = new SshLogin({
      access: options.access,
      client: { address, isGone: () => socket.destroyed },
      isMachine: async () => {
        const machines = await options.machines();
        return (name) => matching(machines, name).length > 0;
      },
      log,
      onUser: (user) => (this.#user = user),
      onTooMany: () => socket.destroy(),
    });
    client.on('authentication', (context: AuthContext) => {
      void login.answer(context).then(() => {
        // The client left during its login: nothing will use the session.
        if (socket.destroyed) this.#endSession();
      });
    });
    client.on('ready', () => {
      options.onReady();
      this.#startIdleTimer();
    });
    client.on('session', (accept, reject) => {
      if (this.#channels >= MAX_CHANNELS) {
        reject();
        return;
      }
      this.#channels += 1;
      this.#serve(accept());
    });
    // After an error of the protocol or of the socket, the connection is already closed.
    client.on('error', (error: Error) => log.debug('an SSH connection failed', { address, error: error.message }));
    socket.once('close', () => this.#cleanUp());
    socket.on('drain', () => {
      for (const console of this.#consoles) console.onDrain();
    });
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Ends the session, all consoles with the reason as their last message, and then the connection. */
  close(why: string): void {
    this.#endSession();
    for (const console of [...this.#consoles]) console.end(why);
    // A client disconnects after its last channel and exits with the channel's status, so this code waits first.
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#options.client.end(), GOODBYE_MS).unref();
  }

  #serve(session: Session): void {
    let terminal = false;
    session.on('pty', (accept) => {
      terminal = true;
      // If the client wants no reply, the library passes no function, although its types promise one.
      (accept as (() => void) | undefined)?.();
    });
    session.on('shell', (accept, reject) => this.#begin(accept, reject, null, terminal));
    session.on('exec', (accept, reject, { command }) => this.#begin(accept, reject, command, terminal));
    session.on('close', () => (this.#channels -= 1));
  }

  /**
   * Opens a console in a channel. If this is not possible, ends the channel with the reason. After an unexpected
   * error, and if the client's packets are too small, logs the reason and closes the channel without a message.
   * @param accept returns undefined if the channel already runs a program (RFC 4254 §6.5 allows one).
   * @param command the client's command, which may name a machine; null: a shell.
   */
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
    correctWindow(channel);
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
    const channelState = { isClosed: false };
    channel.once('close', () => (channelState.isClosed = true)).on('error', () => undefined);
    const refuse = (...lines: readonly string[]): void => refuseChannel(channel, lines, terminal);
    const machines = await this.#options.machines();
    // If the client left meanwhile, a place that is reserved now would never be released.
    if (channelState.isClosed) return;
    if (this.#user !== user) {
      refuse('the session was ended');
      return;
    }
    const request = this.#withDefault(readRequest(user.target, user.account, command));
    switch (request.kind) {
      case 'refused':
        refuse(request.why);
        return;
      case 'which':
        refuse(...machineList(user, machines));
        return;
      case 'console':
        break;
    }
    const [machine, ...others] = matching(machines, request.machine);
    const named = JSON.stringify(request.machine);
    if (machine === undefined) refuse(`there is no machine ${named}`);
    else if (others.length > 0) {
      refuse(`several machines have the name ${named}: use a UUID:`, ...[machine, ...others].map(({ uuid }) => uuid));
    } else this.#connect(channel, machine, user, terminal);
  }

  /** Selects the machine whose own address the client connected to, if the client names no machine. */
  #withDefault(request: ConsoleRequest): ConsoleRequest {
    const { fixedMachine } = this.#options;
    return request.kind === 'which' && fixedMachine !== null ? { kind: 'console', machine: fixedMachine } : request;
  }

  #connect(channel: ServerChannel, machine: SystemRef, user: SshUser, terminal: boolean): void {
    const { access, hub, log, socket, reserve } = this.#options;
    if (!mayUse(access, user)) {
      refuseChannel(channel, [`the role of ${user.account ?? 'this account'} has no privilege for consoles`], terminal);
      return;
    }
    const release = reserve();
    if (release === undefined) {
      refuseChannel(channel, ['too many consoles are open'], terminal);
      return;
    }
    clearTimeout(this.#idle);
    const { account, session } = user;
    const about = { machine: machine.name, account, address: socket.remoteAddress, session };
    log.info('console opened', about);
    const console: SshConsole = new SshConsole({
      channel,
      unsentBytes: () => socket.writableLength,
      hub,
      clientName: clientName(account, socket.remoteAddress),
      machine,
      terminal,
      onEnd: (why) => {
        this.#consoles.delete(console);
        release();
        log.info('console closed', { ...about, reason: why });
        if (this.#consoles.size === 0) this.#startIdleTimer();
      },
    });
    this.#consoles.add(console);
  }

  /**
   * Closes the connection if its session has ended, or if the client never reads. Also closes it if it has consoles
   * and the account may not use consoles anymore.
   */
  #check(): void {
    const { access, socket, log } = this.#options;
    if (socket.writableLength > MAX_UNSENT_BYTES) {
      log.info('an SSH connection was closed: the client does not read', { address: socket.remoteAddress });
      socket.destroy();
      return;
    }
    const user = this.#user;
    if (user === undefined) return;
    if (access.sessions.find(user.session) === undefined) this.close('the session was ended');
    else if (this.#consoles.size > 0 && !mayUse(access, user))
      this.close('the role of the account has no privilege for consoles anymore');
  }

  #startIdleTimer(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#options.client.end(), IDLE_MS).unref();
  }

  #cleanUp(): void {
    clearInterval(this.#checkTimer);
    clearTimeout(this.#idle);
    for (const console of [...this.#consoles]) console.onDisconnect();
    // Stops the timer again, because the end of the last console has started it.
    clearTimeout(this.#idle);
    this.#endSession();
  }

  #endSession(): void {
    const user = this.#user;
    this.#user = undefined;
    if (user !== undefined) void this.#options.access.sessions.end(user.session);
  }
}

/**
 * Returns whether an account may use consoles; true if the service has no accounts. The user of a console can control
 * the machine and see passwords, so it needs ConfigureComponents, as for a power-off and for the console log.
 */
function mayUse(access: Pick<Logins, 'accounts'>, { account }: SshUser): boolean {
  return privilegesOf(access, account)?.has('ConfigureComponents') !== false;
}

/** Returns the answer to a client that names no machine. */
function machineList({ account, target }: SshUser, machines: readonly SystemRef[]): readonly string[] {
  const login = account ?? target.account ?? '';
  const names = machines.map(({ name }) => name).toSorted();
  const rest = names.length - MAX_NAMED;
  return [
    `which console? ssh ${login}@HOST NAME, or ssh ${login}/NAME@HOST, with the name or the UUID of a machine:`,
    ...names.slice(0, MAX_NAMED),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ];
}

function refuseChannel(channel: ServerChannel, lines: readonly string[], terminal: boolean): void {
  channel.on('error', () => undefined);
  channel.resume();
  const text = lines.map((line) => `${line}${terminal ? '\r\n' : '\n'}`).join('');
  channel.stderr.write(text);
  channel.exit(REFUSED_EXIT_STATUS);
  channel.end();
}
