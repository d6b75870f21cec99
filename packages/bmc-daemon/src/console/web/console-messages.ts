/**
 * The text messages of a console's WebSocket. Each is a JSON object with a `type`. Binary messages
 * are bytes of the terminal.
 */
import { z } from 'zod';
import type { ConsoleState } from '../console-condition.js';

/** Messages of the client. */
const clientMessage = z.discriminatedUnion('type', [
  /** Asks for the keyboard. */
  z.strictObject({ type: z.literal('take') }),
  /** Hands the keyboard over. */
  z.strictObject({ type: z.literal('release') }),
  /** Sends a break. */
  z.strictObject({ type: z.literal('break') }),
  /**
   * Reports how many bytes of output the client has processed since it connected. The service skips
   * output while the client has too much to process.
   */
  z.strictObject({ type: z.literal('read'), bytes: z.int().nonnegative() }),
]);

/** A message of the client. */
export type ClientMessage = z.infer<typeof clientMessage>;

/** A message of the service. */
export type ServiceMessage =
  /** The first message. `you` is the client's name for other clients. */
  | { readonly type: 'hello'; readonly machine: string; readonly you: string; readonly handOverSeconds: number }
  /** The next `bytes` bytes are the recorded output of a boot. `boot`: the number of the boot; null: not stored. */
  | { readonly type: 'boot'; readonly boot: number | null; readonly bytes: number }
  /** The console's state, and a sentence with the reason. */
  | { readonly type: 'state'; readonly state: ConsoleState; readonly why: string }
  /** The keyboard has changed. Members as in `KeyboardStatus`. */
  | {
      readonly type: 'keyboard';
      readonly holder: string | null;
      readonly asker: string | null;
      readonly yours: boolean;
    }
  /** Input did not reach the guest. */
  | { readonly type: 'dropped'; readonly bytes: number; readonly why: string }
  /** A sentence for the user. */
  | { readonly type: 'notice'; readonly text: string };

/**
 * Parses a message of a client.
 * @returns a string with the fault if the message is invalid.
 */
export function readClientMessage(text: string): ClientMessage | string {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return 'A text message must be a JSON object.';
  }
  const { data, error } = clientMessage.safeParse(json);
  const [issue] = error?.issues ?? [];
  return data ?? `Invalid message: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`;
}
