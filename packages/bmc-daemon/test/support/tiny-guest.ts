/**
 * Guests whose whole program is the boot sector, without a kernel or a boot loader. SeaBIOS boots
 * them within a second. They print the label of their boot device on a serial line, and react to
 * the power button. At a command on the line, they restart or read their IDE CD drive.
 */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * The program, at 0x7c00 in real mode. At 0x7cff, {@link assemble} adds a byte that says whether the guest ignores
 * the power button, and then the text to print, `boot <label>`.
 */
const program = [
  'fa 31 c0 8e d8 8e c0 8e d0 bc 00 7c fb', // cli; ds, es, ss = 0; sp = 0x7c00; sti
  'ba 02 06 b8 00 01 ef', //                   outw 0x602: PM1_EN, let the power button set its status bit
  'be 00 7d e8 9c 00', //                      print label
  'f4 ba 00 06 ed f6 c4 01 75 16', //    wait: hlt until the timer ticks; PM1_STS: power button? -> button
  'ba fd 03 ec a8 01 74 ee', //                no byte received? -> wait
  'ba f8 03 ec 3c 72 74 20', //                'r' -> reset
  '3c 63 74 22 eb e0', //                      'c' -> medium; else wait
  'b8 00 01 ef be ce 7c e8 72 00', //  button: acknowledge; print "power button"
  '80 3e ff 7c 00 75 cf', //                   ignores the button? -> wait
  'ba 04 06 b8 00 20 ef eb c6', //             outw 0x604: PM1_CNT, sleep in state S5
  'b0 fe e6 64 eb c0', //               reset: keyboard controller, pulse the reset line
  'be e7 7c e8 2c 00 a8 01 74 11', //  medium: READ(10); no error? -> found
  'be f3 7c e8 22 00 b9 09 00 e8 13 00', //    REQUEST SENSE, 18 bytes: until then, the drive rejects commands
  'be dc 7c eb 09', //                         "no medium" -> say
  'b9 00 04 e8 08 00 be 08 80', //      found: read 2048 bytes; print the volume's system identifier
  'e8 35 00 eb 97', //                    say: print; -> wait
  'bf 00 80 ba f0 01 f3 6d c3', //       data: insw cx words to 0x8000
  'ba f6 01 b0 a0 ee', //               atapi: primary master
  'ba f4 01 b0 00 ee 42 b0 08 ee', //          at most 2048 bytes at a time
  'ba f7 01 b0 a0 ee e8 08 00', //             PACKET; wait until ready
  'b9 06 00 ba f0 01 f3 6f', //                send the six words at si
  'ba f7 01 ec a8 80 75 fb c3', //      ready: status in al, once it is not busy
  'ac 84 c0 74 12 88 c3', //            print: load a byte; return at zero
  'ba fd 03 ec a8 20 74 fb 88 d8', //          wait until the transmitter is empty
  'ba f8 03 ee eb e9 c3', //                   send the byte; -> print
  '70 6f 77 65 72 20 62 75 74 74 6f 6e 0a 00', // "power button\n"
  '6e 6f 20 6d 65 64 69 75 6d 0a 00', //       "no medium\n"
  '28 00 00 00 00 10 00 00 01 00 00 00', //    READ(10): one block at 16
  '03 00 00 00 12 00 00 00 00 00 00 00', //    REQUEST SENSE: 18 bytes
].join(' ');

/** Options of the program of a guest. */
export interface ProgramOptions {
  /** Printed at boot, as `boot <label>`. */
  readonly label: string;
  /** The guest notices the power button, and continues. */
  readonly ignoresPowerButton?: boolean;
  /** When the power button is pressed, the guest reports a panic to its pvpanic device, and waits. */
  readonly panics?: boolean;
}

/** Sleep in state S5, and code of the same length for a panic: outb 0x505, 1; nop. */
const [powerOff, panic] = ['ba 04 06 b8 00 20 ef', 'ba 05 05 b0 01 ee 90'];

function assemble({ label, ignoresPowerButton = false, panics = false }: ProgramOptions): Buffer {
  const code = Buffer.from((panics ? program.replace(powerOff, panic) : program).replaceAll(' ', ''), 'hex');
  const text = Buffer.from(`${ignoresPowerButton ? '\x01' : '\0'}boot ${label}\n\0`, 'latin1');
  return Buffer.concat([code, text]);
}

/** Returns a disk that boots the program; 1 MiB by default, 1,474,560 bytes for a floppy disk. */
export function bootableDisk(options: ProgramOptions, bytes = 1_048_576): Buffer {
  const disk = Buffer.alloc(bytes);
  assemble(options).copy(disk);
  disk.writeUInt16LE(0xaa55, 510);
  return disk;
}

/**
 * Returns an ISO image that boots the program by El Torito without emulation. It also boots as a
 * disk, like hybrid images, because libvirt 9 shows a CD on USB as a disk. A running guest with the
 * image in its IDE drive reads the label when it receives `c`.
 * @param bytes size of the image.
 */
export function bootableIso(options: ProgramOptions, bytes = 40 * 2048): Buffer {
  const iso = Buffer.alloc(bytes);
  const sector = (number: number): Buffer => iso.subarray(number * 2048, (number + 1) * 2048);
  sector(16).write(`\x01CD001\x01\0medium ${options.label}\n\0`, 'latin1');
  sector(17).write('\0CD001\x01EL TORITO SPECIFICATION', 'latin1');
  sector(17).writeUInt32LE(19, 0x47);
  sector(18).write('\xffCD001\x01', 'latin1');
  const catalog = sector(19);
  catalog.writeUInt8(1, 0);
  catalog.writeUInt16LE(0xaa55, 0x1e);
  let sum = 0;
  for (let offset = 0; offset < 32; offset += 2) sum += catalog.readUInt16LE(offset);
  catalog.writeUInt16LE(-sum & 0xffff, 0x1c);
  catalog.writeUInt8(0x88, 32);
  catalog.writeUInt16LE(4, 38);
  catalog.writeUInt32LE(20, 40);
  assemble(options).copy(iso, 20 * 2048);
  assemble(options).copy(iso);
  iso.writeUInt16LE(0xaa55, 510);
  return iso;
}

/** The peer of a guest's serial line. Each QEMU process connects to it. */
export class SerialLine {
  /** Output so far, line by line; `<power on>` where a QEMU process began. */
  readonly lines: string[] = [];
  readonly #server: Server;
  #socket: Socket | undefined;
  #waiters: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#socket = socket;
      this.#add('<power on>');
      let rest = '';
      socket.on('data', (chunk) => {
        const pieces = (rest + chunk.toString('latin1')).split(/\r?\n/);
        rest = pieces.pop() ?? '';
        for (const piece of pieces) this.#add(piece);
      });
      socket.on('error', () => undefined); // QEMU was killed.
    });
  }

  static async listen(): Promise<SerialLine> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new SerialLine(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port; // The address of a TCP server is an object.
  }

  send(text: string): void {
    this.#socket?.write(text);
  }

  /** The lines about boots, buttons, media and power, in order. */
  get events(): readonly string[] {
    return this.lines.flatMap(
      (line) => /(?:<power on>|boot |power button|medium |no medium|RACKLESS-).*/.exec(line) ?? [],
    );
  }

  /**
   * Waits until {@link events} has at least this length, and returns the events.
   * @throws {Error} with the events so far after `timeoutMs`.
   */
  async reaches(length: number, timeoutMs = 120_000): Promise<readonly string[]> {
    const deadline = Date.now() + timeoutMs;
    while (this.events.length < length) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`the guest printed only ${JSON.stringify(this.events)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return this.events;
  }

  async close(): Promise<void> {
    this.#socket?.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #add(line: string): void {
    this.lines.push(line);
    for (const wake of this.#waiters.splice(0)) wake();
  }
}
