import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authProcedures, AuthType } from '../../src/protocol/auth.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import {
  type Header,
  KeepaliveProcedure,
  MessageStatus,
  MessageType,
  openMessage,
  readHeader,
  remoteError,
} from '../../src/protocol/message.js';
import { MessageSplitter } from '../../src/protocol/message-splitter.js';
import { type EventProcedure, type Procedure, PROGRAM } from '../../src/protocol/procedure.js';
import { XdrReader, XdrWriter } from '../../src/xdr.js';
import type { Codec, Value } from '../../src/codec.js';

/** A handler returns this value to send no answer. */
export const HANG = Symbol('hang');

/** Error that a handler throws to answer with a libvirt error. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    readonly domain: number,
    message: string,
  ) {
    super(message);
  }
}

const NOTHING = Buffer.alloc(0);

/** A received call. */
export interface FakeCall {
  readonly client: FakeClient;
  readonly serial: number;
  readonly number: number;
}

/** A received stream message. */
export interface StreamMessage {
  readonly serial: number;
  readonly status: number;
  readonly payload: Buffer;
}

type Handler = (body: XdrReader, call: FakeCall) => Promise<Buffer | null>;

/** Encodes a message. */
export function message<T>(header: Header, codec: Codec<T>, value: T): Buffer {
  const writer = new XdrWriter();
  openMessage(writer, header);
  codec.encode(writer, value);
  writer.closeFrame();
  return writer.finish();
}

/** Encodes a successful reply. */
export function replyTo<A, R>(procedure: Procedure<A, R>, serial: number, result: R): Buffer {
  const { program, number } = procedure;
  return message(
    { program, procedure: number, type: MessageType.reply, serial, status: MessageStatus.ok },
    procedure.result,
    result,
  );
}

/** Encodes an event. */
export function eventMessage<E>(event: EventProcedure<E>, value: E): Buffer {
  const { program, number } = event;
  return message(
    { program, procedure: number, type: MessageType.event, serial: 0, status: MessageStatus.ok },
    event.event,
    value,
  );
}

/** Creates a virError as libvirtd sends it. */
export function virError(code: number, domain: number, text: string): Value<typeof remoteError> {
  return {
    code,
    domain,
    message: text,
    level: 2,
    dom: null,
    str1: text,
    str2: null,
    str3: null,
    int1: -1,
    int2: -1,
    net: null,
  };
}

/** The connection of one client to the fake libvirtd. */
export class FakeClient {
  /** Procedure numbers of the received calls, in order, without keepalive and stream messages. */
  readonly calls: number[] = [];
  readonly streamMessages: StreamMessage[] = [];
  /** Number of received PINGs. */
  pings = 0;
  /** Number of received PONGs. */
  pongs = 0;
  /** Number of received bytes of stream data. */
  streamBytes = 0;

  constructor(readonly socket: Socket) {}

  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Closes the connection without a message. */
  drop(): void {
    this.socket.destroy();
  }

  /** Sends a PING or a PONG. */
  keepalive(procedure: number): void {
    const writer = new XdrWriter();
    const header = {
      program: PROGRAM.keepalive,
      procedure,
      type: MessageType.event,
      serial: 0,
      status: MessageStatus.ok,
    };
    openMessage(writer, header);
    writer.closeFrame();
    this.write(writer.finish());
  }

  /**
   * Sends a message of the stream that `procedure` opened.
   * @returns false if the socket's buffer is full.
   */
  stream(
    procedure: { readonly program: number; readonly number: number },
    serial: number,
    status: number,
    payload: Uint8Array,
  ): boolean {
    const writer = new XdrWriter();
    openMessage(writer, {
      program: procedure.program,
      procedure: procedure.number,
      type: MessageType.stream,
      serial,
      status,
    });
    writer.closeFrame(payload.length);
    return this.socket.write(Buffer.concat([writer.finish(), payload]));
  }
}

/**
 * A fake libvirtd on a real socket, with the codecs of the client. It accepts every client, and answers
 * the calls that open a connection. Tests add handlers for further procedures. All other calls get
 * libvirtd's error for unknown procedures.
 */
export class FakeLibvirtd {
  /** The clients that are connected now. */
  readonly clients: FakeClient[] = [];
  /** All clients so far, including disconnected clients. */
  readonly everyClient: FakeClient[] = [];
  /** Whether the fake answers PINGs. */
  answersPings = true;
  /** Whether the fake confirms the abort of a stream, as libvirtd does. */
  answersAborts = true;
  /** Called with each received stream message. */
  onStream: (message: StreamMessage, client: FakeClient) => void = () => undefined;
  readonly #handlers = new Map<string, Handler>();
  #server: Server | null = null;

  private constructor(
    readonly dir: string,
    readonly socket: string,
  ) {
    this.on(authProcedures.list, () => [AuthType.NONE]);
    this.on(connectProcedures.supportsFeature, () => 1);
    this.on(connectProcedures.open, () => undefined);
  }

  get uri(): string {
    return `test+unix:///default?socket=${this.socket}`;
  }

  /** Starts a fake that listens on the socket `name` in a new folder. */
  static async start(name = 'fake-sock'): Promise<FakeLibvirtd> {
    const dir = await mkdtemp(join(tmpdir(), 'rackless-fake-'));
    const fake = new FakeLibvirtd(dir, join(dir, name));
    await fake.listen();
    return fake;
  }

  /** Sets the handler of a procedure. The handler returns the result or {@link HANG}, or throws a {@link Refusal}. */
  on<A, R>(procedure: Procedure<A, R>, handler: (args: A, call: FakeCall) => R | Promise<R> | typeof HANG): void {
    this.#handlers.set(`${procedure.program}/${procedure.number}`, async (body, call) => {
      const result = await handler(procedure.args.decode(body), call);
      return result === HANG ? null : replyTo(procedure, call.serial, result);
    });
  }

  /** Listens on the socket. `start` calls it; tests call it after `stopListening`. */
  async listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.socket, resolve);
    });
  }

  /** Stops listening and disconnects all clients, like a daemon that exits. */
  async stopListening(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const client of [...this.clients]) client.drop();
    if (server !== null) await new Promise((resolve) => server.close(resolve));
  }

  /** Sends an event to all connected clients. */
  emit<E>(event: EventProcedure<E>, value: E): void {
    for (const client of this.clients) client.write(eventMessage(event, value));
  }

  /** Disconnects all clients, and removes the folder of the socket. */
  async stop(): Promise<void> {
    await this.stopListening();
    await rm(this.dir, { recursive: true, force: true });
  }

  #accept(socket: Socket): void {
    const client = new FakeClient(socket);
    this.clients.push(client);
    this.everyClient.push(client);
    const splitter = new MessageSplitter((buffer, start, end) => {
      this.#receive(client, Buffer.from(buffer.subarray(start, end)));
      return true;
    });
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => undefined); // The client disconnected during a write. `close` follows.
    socket.on('close', () => {
      const at = this.clients.indexOf(client);
      if (at >= 0) this.clients.splice(at, 1);
    });
  }

  #receive(client: FakeClient, bytes: Buffer): void {
    const reader = new XdrReader(bytes);
    const header = readHeader(reader);
    if (header.program === PROGRAM.keepalive) {
      if (header.procedure === KeepaliveProcedure.pong) client.pongs += 1;
      else {
        client.pings += 1;
        if (this.answersPings) client.keepalive(KeepaliveProcedure.pong);
      }
      return;
    }
    if (header.type === MessageType.stream) {
      const received = { serial: header.serial, status: header.status, payload: reader.rest() };
      client.streamMessages.push(received);
      client.streamBytes += received.payload.length;
      this.onStream(received, client);
      if (header.status === MessageStatus.error && this.answersAborts)
        client.stream({ program: header.program, number: header.procedure }, header.serial, MessageStatus.ok, NOTHING);
      return;
    }
    client.calls.push(header.procedure);
    void this.#answer(client, header, reader);
  }

  async #answer(client: FakeClient, header: Header, body: XdrReader): Promise<void> {
    const { program, procedure, serial } = header;
    const failed = { program, procedure, type: MessageType.reply, serial, status: MessageStatus.error };
    const handler = this.#handlers.get(`${program}/${procedure}`);
    try {
      // VIR_ERR_RPC from VIR_FROM_RPC, as in libvirtd.
      if (handler === undefined) throw new Refusal(39, 7, `unknown procedure: ${procedure}`);
      const bytes = await handler(body, { client, serial, number: procedure });
      if (bytes !== null) client.write(bytes);
    } catch (error) {
      const { code, domain, message: text } = error instanceof Refusal ? error : new Refusal(1, 7, String(error));
      client.write(message(failed, remoteError, virError(code, domain, text)));
    }
  }
}
