/**
 * Relays messages between a daemon and libvirtd. A test decides about each call. For example, it kills the daemon
 * before a call that changes something, and discards the call.
 */
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { authProcedures } from '../../../libvirt/src/protocol/auth.js';
import { connectProcedures } from '../../../libvirt/src/protocol/connect.js';
import { domainProcedures } from '../../../libvirt/src/protocol/domain.js';
import { MessageSplitter } from '../../../libvirt/src/protocol/message-splitter.js';
import {
  MessageStatus,
  MessageType,
  openMessage,
  readHeader,
  remoteError,
  type Header,
} from '../../../libvirt/src/protocol/message.js';
import { PROGRAM, type Procedure } from '../../../libvirt/src/protocol/procedure.js';
import { qemuProcedures } from '../../../libvirt/src/protocol/qemu.js';
import { storagePoolProcedures, storageVolumeProcedures } from '../../../libvirt/src/protocol/storage.js';
import { XdrReader, XdrWriter } from '../../../libvirt/src/xdr.js';

const names = new Map(
  [
    authProcedures,
    connectProcedures,
    domainProcedures,
    qemuProcedures,
    storagePoolProcedures,
    storageVolumeProcedures,
  ].flatMap((table) =>
    Object.values<Pick<Procedure<unknown, unknown>, 'program' | 'number' | 'name'>>(table).map(
      ({ program, number, name }) => [`${program} ${number}`, name] as const,
    ),
  ),
);

/** Calls that change nothing. All others change something, except queries with `domainQemuMonitorCommand`. */
const READS =
  /^auth|^connect|Lookup|Get|List|^domain(Is|Has|MemoryStats|BlockStats)|NumOf|^storage(Pool|Vol)(Refresh|Download)$/;

/** libvirt's VIR_ERR_SYSTEM_ERROR. */
const SYSTEM_ERROR = 38;

/** A call, such as `domainCreateXml`, or a part of an upload (`storageVolUpload part`). */
export interface SeenCall {
  readonly name: string;
  readonly changes: boolean;
  /** Returns whether the arguments of the call contain the UUID. */
  readonly concerns: (uuid: string) => boolean;
}

/**
 * Decides about a call. `drop` discards the call and everything after it, and closes all connections.
 * `refuse` answers with an error instead of libvirtd. `ignore` discards only this call, which is
 * never answered.
 */
export type Decide = (call: SeenCall) => 'forward' | 'drop' | 'refuse' | 'ignore';

/** A relay of a Unix socket, until it is closed. */
export class CallRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #decide: Decide = () => 'forward';
  #isDropping = false;

  private constructor(
    readonly path: string,
    target: string,
  ) {
    this.#server = createServer((client) => this.#relay(client, connect(target)));
  }

  /**
   * Starts a relay.
   * @param path the path of the socket for the daemon.
   * @param target socket of libvirtd.
   */
  static async listen(path: string, target: string): Promise<CallRelay> {
    const relay = new CallRelay(path, target);
    await new Promise<void>((resolve) => relay.#server.listen(path, resolve));
    return relay;
  }

  /** Ends the effect of `drop`, and lets `decide` decide about later calls. */
  decideBy(decide: Decide): void {
    this.#isDropping = false;
    this.#decide = decide;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.path, { force: true });
  }

  #relay(client: Socket, libvirtd: Socket): void {
    const both = [client, libvirtd];
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined); // 'close' follows.
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const other of both) other.destroy();
      });
    }
    libvirtd.pipe(client);
    const splitter = new MessageSplitter((buffer, start, end) => {
      const message = Buffer.from(buffer.subarray(start, end));
      const header = readHeader(new XdrReader(message));
      const decision = this.#decideOn(header, message);
      if (decision === 'forward') libvirtd.write(message);
      else if (decision === 'refuse') client.write(errorReply(header));
      else if (decision === 'drop') for (const socket of this.#sockets) socket.destroy();
      return true;
    });
    client.on('data', (chunk) => {
      if (Buffer.isBuffer(chunk)) splitter.push(chunk);
    });
  }

  #decideOn({ program, procedure, type, status }: Header, message: Buffer): ReturnType<Decide> {
    if (this.#isDropping) return 'drop';
    if (program === PROGRAM.keepalive) return 'forward';
    const name = names.get(`${program} ${procedure}`) ?? `${program} ${procedure}`;
    // The chunks and the end of an upload.
    const isPart = type === MessageType.stream && name === 'storageVolUpload' && status !== MessageStatus.error;
    if (type !== MessageType.call && !isPart) return 'forward';
    // `domainQemuMonitorCommand` is used for queries and for changes of QEMU.
    const changes = name === 'domainQemuMonitorCommand' ? message.includes('qom-set') : !READS.test(name);
    const concerns = (uuid: string): boolean => message.includes(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
    const decision = this.#decide({ name: isPart ? `${name} part` : name, changes, concerns });
    this.#isDropping = decision === 'drop';
    return decision;
  }
}

/** Encodes an error as libvirtd sends it. */
function errorReply(header: Header): Buffer {
  const writer = new XdrWriter();
  const type = header.type === MessageType.stream ? MessageType.stream : MessageType.reply;
  openMessage(writer, { ...header, type, status: MessageStatus.error });
  const nothing = { str1: null, str2: null, str3: null, dom: null, net: null, int1: 0, int2: 0 };
  remoteError.encode(writer, { ...nothing, code: SYSTEM_ERROR, domain: 0, level: 2, message: 'refused by the test' });
  writer.closeFrame();
  return writer.finish();
}
