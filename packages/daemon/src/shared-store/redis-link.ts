/**
 * The connections of a replica to Redis. Each command has a deadline. No command waits for a
 * connection.
 */
import { maskUrl } from '../text/mask-url.js';
import { StoreUnavailable } from './store-unavailable.js';

/** Connections to one Redis. */
export interface RedisLink {
  /**
   * Runs a command.
   * @throws {StoreUnavailable} at once without a connection, and after the deadline.
   */
  command(words: readonly string[]): Promise<unknown>;
  /**
   * Calls the listener for each message of a channel. Messages may get lost without a connection.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  /** Calls the listener after each reconnection of the connection for commands. */
  onReconnect(listener: () => void): void;
  close(): void;
}

/** A command that takes longer fails. */
const COMMAND_MS = 2000;
const CONNECT_MS = 5000;
const MAX_RECONNECT_PAUSE_MS = 1000;

/**
 * Connects. Later it connects again whenever a connection ends.
 * @param url `redis://user:password@host:6379/0`, or `rediss:` for TLS.
 * @throws {StoreUnavailable} if Redis cannot be reached now.
 */
export async function connectRedis(url: string): Promise<RedisLink> {
  // A daemon without replicas never loads this client. Loading it takes a sixth of the CPU time of
  // a start.
  const { createClient } = await import('@redis/client');
  const open = () =>
    createClient({
      url,
      disableOfflineQueue: true,
      // This also detects a broken connection whose end was never reported.
      pingInterval: 5000,
      socket: {
        connectTimeout: CONNECT_MS,
        reconnectStrategy: (attempts) => Math.min(MAX_RECONNECT_PAUSE_MS, 50 * 2 ** Math.min(attempts, 10)),
      },
    });
  const commands = open();
  const messages = open();
  let lastError: unknown;
  for (const client of [commands, messages]) client.on('error', (error: unknown) => (lastError = error));
  const close = (): void => {
    for (const client of [commands, messages]) if (client.isOpen) client.destroy();
  };
  try {
    await withDeadline(Promise.all([commands.connect(), messages.connect()]), CONNECT_MS);
  } catch (error) {
    close();
    const why = reasonOf(lastError ?? error);
    throw new StoreUnavailable(`connecting to ${maskUrl(url)}: ${why}`, { cause: error });
  }
  return {
    close,
    onReconnect: (listener) => void commands.on('ready', listener),
    command: async (words) => {
      try {
        if (!commands.isReady) throw new Error(`there is no connection (${reasonOf(lastError)})`);
        return await withDeadline(commands.sendCommand([...words]), COMMAND_MS);
      } catch (error) {
        throw new StoreUnavailable(`the shared store does not answer: ${reasonOf(error)}`, { cause: error });
      }
    },
    subscribe: async (channel, listener) => {
      try {
        await withDeadline(messages.subscribe(channel, listener), COMMAND_MS);
      } catch (error) {
        throw new StoreUnavailable(`the shared store does not answer: ${reasonOf(error)}`, { cause: error });
      }
    },
  };
}

async function withDeadline<T>(result: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'the connection ended';
}
