/**
 * Parses the messages of a VNC client. For the handshake, the service itself is the VNC server. It
 * asks for no login, because the WebSocket has authenticated the client. After the handshake, it
 * forwards messages to the real server.
 * @see RFC 6143 §7.1, §7.3 and §7.5
 */
import { RfbError } from './rfb-error.js';
import { rfbVersion } from './server-login.js';

/** Maximum length of a message, in bytes; a text for the clipboard can be long. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/** A type of message: its length, and whether a client that may only watch can send it. */
interface MessageType {
  /**
   * Returns the length in bytes.
   * @param bytes at least the first `head` bytes of the message.
   */
  readonly length: (bytes: Buffer) => number;
  /** Number of bytes that `length` needs. */
  readonly head: number;
  /** Whether the message only controls the pictures that the client gets. All other messages are input. */
  readonly isView: boolean;
}

const fixed = (length: number, isView: boolean): MessageType => ({ length: () => length, head: 1, isView });

const messageTypes: ReadonlyMap<number, MessageType> = new Map([
  // SetPixelFormat, SetEncodings, FramebufferUpdateRequest
  [0, fixed(20, true)],
  [2, { head: 4, length: (bytes) => 4 + 4 * bytes.readUInt16BE(2), isView: true }],
  [3, fixed(10, true)],
  // KeyEvent, PointerEvent
  [4, fixed(8, false)],
  [5, fixed(6, false)],
  // ClientCutText; a negative length means the extended clipboard.
  [6, { head: 8, length: (bytes) => 8 + Math.abs(bytes.readInt32BE(4)), isView: false }],
  // EnableContinuousUpdates
  [150, fixed(10, true)],
  // ClientFence
  [248, { head: 9, length: (bytes) => 9 + bytes.readUInt8(8), isView: true }],
  // xvp: power actions. They count as input, so they need the same privilege as power actions of Redfish.
  [250, fixed(4, false)],
  // SetDesktopSize
  [251, { head: 8, length: (bytes) => 8 + 16 * bytes.readUInt8(6), isView: false }],
  // QEMU's messages: a key with its scan code, and audio.
  [255, { head: 4, length: qemuLength, isView: false }],
]);

function qemuLength(bytes: Buffer): number {
  if (bytes.readUInt8(1) === 0) return 12;
  return bytes.readUInt16BE(2) === 2 ? 10 : 4;
}

type Stage = 'version' | 'security' | 'init' | 'messages';

/** Parses the bytes of one client. */
export class ClientMessages {
  readonly #reply: (bytes: Buffer) => void;
  readonly #isViewOnly: () => boolean;
  #stage: Stage = 'version';
  /** The bytes that were not parsed, with free space behind them for the rest of a message. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  /**
   * Begins the handshake.
   * @param reply sends bytes to the client.
   * @param isViewOnly returns whether to drop input. Called for each message of input.
   */
  constructor(reply: (bytes: Buffer) => void, isViewOnly: () => boolean) {
    this.#reply = reply;
    this.#isViewOnly = isViewOnly;
    reply(rfbVersion);
  }

  /**
   * Accepts bytes of the client.
   * @returns the bytes for the VNC server.
   * @throws {RfbError} for an unknown or too long message, and for a handshake that the service did not offer.
   */
  push(bytes: Buffer): Buffer {
    this.#append(bytes);
    const passed: Buffer[] = [];
    for (let start = 0; ;) {
      const rest = this.#buffer.subarray(start, this.#length);
      const length = this.#nextLength(rest);
      if (length === undefined || rest.length < length) {
        const forServer = Buffer.concat(passed);
        this.#removeBefore(start);
        return forServer;
      }
      const message = this.#accept(rest.subarray(0, length));
      if (message !== undefined) passed.push(message);
      start += length;
    }
  }

  /** Adds bytes. The space doubles, so that a long message in many small parts costs little time. */
  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (this.#length === 0) this.#buffer = bytes;
    else {
      if (length > this.#buffer.length) {
        const larger = Buffer.alloc(length * 2);
        this.#buffer.copy(larger, 0, 0, this.#length);
        this.#buffer = larger;
      }
      bytes.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  #removeBefore(start: number): void {
    if (start > 0) this.#buffer.copyWithin(0, start, this.#length);
    this.#length -= start;
  }

  /**
   * Returns the length of the next message; undefined if its beginning has not arrived.
   * @throws {RfbError} if the message is unknown or too long.
   */
  #nextLength(rest: Buffer): number | undefined {
    if (this.#stage === 'version') return rfbVersion.length;
    if (this.#stage !== 'messages') return 1;
    const [code] = rest;
    if (code === undefined) return undefined;
    const type = messageTypes.get(code);
    if (type === undefined) throw new RfbError(`The client sent an unknown VNC message of type ${code}.`);
    if (rest.length < type.head) return undefined;
    const length = type.length(rest);
    if (length > MAX_MESSAGE_BYTES) throw new RfbError('The client sent a VNC message that is too long.');
    return length;
  }

  #accept(message: Buffer): Buffer | undefined {
    switch (this.#stage) {
      case 'version':
        if (!message.equals(rfbVersion)) throw new RfbError('The client must speak version 3.8 of VNC.');
        this.#stage = 'security';
        // Offers one security type, None (1), because the WebSocket has authenticated the client.
        this.#reply(Buffer.from([1, 1]));
        return undefined;
      case 'security':
        if (message[0] !== 1) throw new RfbError('The client chose a security type that was not offered.');
        this.#stage = 'init';
        this.#reply(Buffer.alloc(4));
        return undefined;
      case 'init':
        this.#stage = 'messages';
        // Replaces the client's ClientInit by one with the shared flag, so that a viewer never disconnects others.
        return Buffer.from([1]);
      case 'messages': {
        const type = messageTypes.get(message[0] ?? 0);
        return type?.isView === true || !this.#isViewOnly() ? message : undefined;
      }
    }
  }
}
