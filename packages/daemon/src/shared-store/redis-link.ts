/**
 * The two connections of a replica to Redis: one for commands, one for messages of channels. Each
 * command has a deadline. No command waits for a connection. A connection without an answer at the deadline is
 * closed and made again.
 */
import { withDeadline } from '../deadline.js';
import { maskUrl } from '../text/mask-url.js';
import { reasonOf, RedisConnection } from './redis-connection.js';
import { StoreUnavailable } from './store-unavailable.js';

/** Connections to one Redis. */
export interface RedisLink {
  /**
   * Runs a command.
   * @throws {StoreUnavailable} if Redis rejects the command, if there is no connection or it ends (at once),
   *   or if Redis does not answer before the deadline.
   */
  command(args: readonly string[]): Promise<unknown>;
  /**
   * Calls the listener for each message of a channel. Messages get lost while there is no connection.
   * @throws {StoreUnavailable} as {@link RedisLink.command}.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  /** Calls the listener each time the connection for commands is ready again. */
  onReconnect(listener: () => void): void;
  close(): void;
}

/** Default of `commandMs`. */
const COMMAND_MS = 2000;
const CONNECT_MS = 5000;
const MAX_RECONNECT_PAUSE_MS = 1000;

/**
 * Connects, and reconnects whenever a connection ends.
 * @param url `redis://user:password@host:6379/0`, or `rediss:` for TLS.
 * @param commandMs milliseconds until a command without an answer fails.
 * @throws {StoreUnavailable} if Redis cannot be reached now.
 * @throws {TypeError} if the URL has another scheme, or a path that is not the number of a database.
 */
export async function connectRedis(url: string, commandMs = COMMAND_MS): Promise<RedisLink> {
  // A daemon without a shared store never loads this client. Loading it takes a sixth of the CPU time of
  // a start.
  const { createClient, ErrorReply } = await import('@redis/client');
  const unavailable = (error: unknown): StoreUnavailable => {
    const fault = error instanceof ErrorReply ? 'rejects the command' : 'does not answer';
    return new StoreUnavailable(`the shared store ${fault}: ${reasonOf(error)}`, { cause: error });
  };
  const newClient = () =>
    createClient({
      url,
      disableOfflineQueue: true,
      socket: {
        connectTimeout: CONNECT_MS,
        reconnectStrategy: (attempts) => Math.min(MAX_RECONNECT_PAUSE_MS, 50 * 2 ** Math.min(attempts, 10)),
      },
    });
  const options = { commandMs, connectMs: CONNECT_MS };
  const commands = new RedisConnection(newClient, options);
  const messages = new RedisConnection(newClient, options);
  const close = (): void => {
    for (const connection of [commands, messages]) connection.close();
  };
  try {
    await withDeadline(Promise.all([commands.connect(), messages.connect()]), CONNECT_MS, () => {
      throw new Error(`no answer within ${CONNECT_MS / 1000} s`);
    });
  } catch (error) {
    close();
    const why = reasonOf(commands.lastError ?? messages.lastError ?? error);
    throw new StoreUnavailable(`connecting to ${maskUrl(url)}: ${why}`, { cause: error });
  }
  return {
    close,
    onReconnect: (listener) => commands.onReady(listener),
    command: async (args) => {
      try {
        return await commands.command(args);
      } catch (error) {
        throw unavailable(error);
      }
    },
    subscribe: async (channel, listener) => {
      try {
        await messages.subscribe(channel, listener);
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}
