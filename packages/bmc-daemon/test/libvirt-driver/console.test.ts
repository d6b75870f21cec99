/**
 * Tests libvirt's console streams and the console log with real guests, and virsh as a second
 * client.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { echoGuestXml } from '../../../libvirt/test/harness/echo-guest.js';
import { createConsoleHub } from '../../src/console/console-hub.js';
import { consoleLogBounds } from '../../src/console/log/console-log-bounds.js';
import { openConsoleLogs } from '../../src/console/log/console-log.js';
import { openConsoleServices, type ConsoleRecorder } from '../../src/console/console-services.js';
import type { SilencePace } from '../../src/console/console-silence.js';
import type { DriverErrorKind } from '../../src/drivers/driver-error.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { TestHost, until } from './host.js';
import { bootableDisk, type ProgramOptions } from '../support/tiny-guest.js';

const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver();
});
afterAll(() => host.stop());

/** These functions run after each test. An open console would take the ports of guests of later tests. */
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/**
 * Defines a guest that prints `boot <name>` on a serial port, restarts at `r` and reads its CD at
 * `c`.
 */
async function guest(name: string, os = '', program: Partial<ProgramOptions> = {}): Promise<void> {
  const disk = host.file(`${name}.img`);
  await writeFile(disk, bootableDisk({ label: name, ...program }));
  await writeFile(host.file(`${name}.xml`), echoGuestXml({ name, disk }).replace('</os>', `${os}</os>`));
  await host.virsh('define', host.file(`${name}.xml`));
}

function control() {
  return driver.console;
}

/** Reads until the output matches a pattern, for at most four minutes. */
async function waitFor(stream: Duplex, wanted: RegExp): Promise<void> {
  const signal = AbortSignal.timeout(240_000);
  let text = '';
  while (!wanted.test(text)) {
    const piece: unknown = stream.read();
    if (piece instanceof Buffer) text += piece.toString('latin1');
    else
      await once(stream, 'readable', { signal }).catch((error: unknown) => {
        throw new Error(`waiting for ${String(wanted)}: the guest printed ${JSON.stringify(text)}`, { cause: error });
      });
  }
}

async function kindOf(attempt: Promise<unknown>): Promise<DriverErrorKind | 'done'> {
  return await attempt.then(
    () => 'done' as const,
    (error: unknown) => (error as { kind: DriverErrorKind }).kind,
  );
}

describe('a serial port of a libvirt machine', () => {
  it('shows the output of the guest from the start, and sends input', async () => {
    await guest('talker');
    expect(await kindOf(control().open('talker'))).toBe('conflict');
    expect((await driver.getSystem('talker')).hasConsole).toBe(true);
    const opened = new Promise<Duplex>((resolve, reject) => {
      const leave = driver.onChange(({ name, kind }) => {
        if (name !== 'talker' || kind !== 'started') return;
        leave();
        control().open('talker').then(resolve, reject);
      });
    });
    // The machine starts paused: a guest may print before the connection exists, which takes some milliseconds.
    await host.virsh('start', '--paused', 'talker');
    const stream = await opened;
    await host.virsh('resume', 'talker');
    await waitFor(stream, /boot talker/);
    stream.write('c');
    await waitFor(stream, /no medium/);
    await control().sendBreak('talker');
    const instance = await control().instance('talker');
    stream.write('r');
    await waitFor(stream, /boot talker/);
    expect(await control().instance('talker')).toBe(instance);
    expect(await kindOf(control().open('talker'))).toBe('consoleInUse');
    const closed = once(stream.resume(), 'close');
    await driver.power('talker', 'destroy');
    await closed;
    expect(await kindOf(control().sendBreak('talker'))).toBe('conflict');
    expect(await kindOf(control().instance('talker'))).toBe('conflict');
    await driver.power('talker', 'create');
    expect(await control().instance('talker')).not.toBe(instance);
    await driver.power('talker', 'destroy');
  });

  it('can be taken over by force, and is free when virsh disconnects', async () => {
    await guest('shared');
    await host.virsh('start', '--paused', 'shared');
    const first = await control().open('shared');
    await host.virsh('resume', 'shared');
    // libvirtd does not end a stream that is taken over while the guest prints. So the test waits for the last output.
    await waitFor(first, /boot shared/);
    const closed = new Promise((resolve) => first.resume().once('close', resolve));
    const reason = once(first, 'error');
    // virsh needs a terminal, which script(1) of bsdutils provides.
    const command = `virsh --connect ${host.libvirtd.uri} console --force shared`;
    const virsh = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const exited = once(virsh, 'exit');
    await closed;
    // libvirt reports the reason in this message only.
    expect(await reason).toEqual([expect.objectContaining({ message: 'stream had I/O failure' })]);
    expect(await kindOf(control().open('shared'))).toBe('consoleInUse');
    // Ctrl+] ends `virsh console`.
    virsh.stdin.write('\u001D');
    await exited;
    let second: Duplex | undefined;
    await until('the port to be free', async () => {
      second = await control().open('shared');
      return true;
    });
    second?.write('c');
    if (second !== undefined) await waitFor(second, /no medium/);
    second?.destroy();
    await driver.power('shared', 'destroy');
  });

  it('cannot be opened if libvirt offers no console', async () => {
    const { name } = await host.guest();
    await driver.power(name, 'create');
    expect(await kindOf(control().open(name))).toBe('unsupported');
    expect(Object.keys(await driver.getSystem(name))).not.toContain('hasConsole');
    await driver.power(name, 'destroy');
  });
});

describe('the console log of a libvirt machine', () => {
  const open = (): ConsoleRecorder => {
    const opened = openConsoleServices({
      driver,
      isLogged: true,
      stateDir: host.file('state'),
      serviceUuid: 'test',
      log,
    });
    opened.start();
    closing.push(() => opened.close());
    return opened;
  };

  it('records each boot from the start of the firmware, also over a restart of the service', async () => {
    // The definition makes SeaBIOS use the serial port.
    // The guest ignores the power button, because the end of QEMU can discard output that libvirtd has not
    // read.
    await guest('logged', `<bios useserial='yes'/>`, { ignoresPowerButton: true });
    const { uuid } = await driver.getSystem('logged');
    let consoles = open();
    const raw = async () => {
      const log = consoles.logs?.ofSystem(uuid);
      const numbers =
        (await log?.read())?.flatMap((record) => (record.kind === 'boot' ? record.boot.number : [])) ?? [];
      return await Promise.all(numbers.map(async (number) => String(await log?.text(number))));
    };
    // SeaBIOS prints the end of the line `Hard Disk...` when its timer ticks. This can be within or
    // after the guest's output, or never if a reset comes first.
    const boots = async () => (await raw()).map((text) => text.replace(/[.\r\n]/g, ''));
    const untilBooted = (count: number) =>
      until(`boot ${count}`, async () => {
        const found = await boots();
        expect([found.length, found.at(-1)]).toEqual([count, expect.stringMatching(/boot logged$/)]);
        return true;
      });
    const connected = () =>
      new Promise<void>((resolve) => {
        consoles.hub?.attach(uuid, {
          data: () => undefined,
          state: (state) => {
            if (state === 'open') resolve();
          },
        });
      });
    // A terminal reset comes before SeaBIOS's name.
    const whole = /^[^a-zA-Z]{0,9}c?.{0,40}SeaBIOS \(version [^]*boot logged$/;

    // The machine starts paused: firmware may print before the connection exists, which takes some milliseconds.
    const listening = connected();
    await host.virsh('start', '--paused', 'logged');
    await listening;
    await host.virsh('resume', 'logged');
    await untilBooted(1);
    await driver.power('logged', 'reset');
    await untilBooted(2);
    const before = await boots();
    expect(before).toEqual([expect.stringMatching(whole), expect.stringMatching(whole)]);

    await consoles.close();
    consoles = open();
    // A late line end of SeaBIOS may follow a note about the gap.
    expect((await boots()).map((text) => text.replace(/\[rackless: [^\]]*\]$/, ''))).toEqual(before);
    // The machine is still in the same run, so its output belongs to the second boot.
    await connected();
    await driver.power('logged', 'shutdown');
    await until(
      'the answer to the power button',
      async () => (await boots()).at(-1)?.includes('power button') === true,
    );
    const [first, second = ''] = await boots();
    expect(first).toBe(before[0]);
    expect(second.startsWith(before[1] ?? '')).toBe(true);
    expect(second.slice(before[1]?.length)).toMatch(
      /^\[rackless: nothing was recorded between .* and .*\]power button$/,
    );
    await driver.power('logged', 'destroy');
    await driver.power('logged', 'create');
    // This guest does not start paused, so its first output may be missing. The test sends `c`
    // until output arrives.
    const typist = consoles.hub?.seat(uuid, {
      name: 'a test',
      data: () => undefined,
      state: () => undefined,
      keyboard: () => undefined,
    });
    await until('boot 3', async () => {
      typist?.write(Buffer.from('c'));
      return (await raw()).length === 3;
    });
    typist?.detach();
    expect((await boots()).slice(0, 2)).toEqual([first, second]);
    await driver.power('logged', 'destroy');
  });
});

describe('a console stream that libvirt loses', () => {
  /**
   * Boot sector: `mov dx,0x3fd; poll: in al,dx; test al,0x20; jz poll; mov dl,0xf8; mov al,'x';
   * out dx,al; mov dl,0xfd; jmp poll`.
   */
  const PRINTS_WITHOUT_PAUSE = Buffer.from('bafd03eca82074fbb2f8b078eeb2fdebf2', 'hex');
  const hour = 3_600_000;
  const never = { firstMs: hour, maxMs: hour, afterInputMs: hour, afterChangeMs: hour, noticeMs: 0 };

  async function printingGuest(name: string): Promise<string> {
    const disk = host.file(`${name}.img`);
    const image = Buffer.alloc(1_048_576);
    PRINTS_WITHOUT_PAUSE.copy(image);
    image.writeUInt16LE(0xaa55, 510);
    await writeFile(disk, image);
    await writeFile(host.file(`${name}.xml`), echoGuestXml({ name, disk }));
    await host.virsh('define', host.file(`${name}.xml`));
    await driver.power(name, 'create');
    return (await driver.getSystem(name)).uuid;
  }

  /** Opens a hub, its log, and a listener that counts the output. */
  function openHub(uuid: string, silence: Partial<SilencePace>) {
    const streams: Duplex[] = [];
    const states: string[] = [];
    let heard = 0;
    const openConsole = async (id: string): Promise<Duplex> => {
      const stream = await driver.console.open(id);
      streams.push(stream);
      return stream;
    };
    const hub = createConsoleHub({
      driver: {
        onChange: (listener) => driver.onChange(listener),
        console: { open: openConsole, sendBreak: (id) => control().sendBreak(id) },
      },
      log,
      silence: { ...never, ...silence },
    });
    // Stores everything: on a busy host, the guest prints more than the default bounds before the
    // test ends.
    const bounds = { ...consoleLogBounds, lastSegments: 10_000, burstBytes: 2 ** 30 };
    const logs = openConsoleLogs({ driver, hub, folder: host.file(`consoles-${uuid}`), log, bounds });
    hub.attach(uuid, {
      data: (bytes) => (heard += bytes.length),
      state: (state, why) => states.push(`${state}: ${why}`),
    });
    closing.push(async () => {
      await logs.close();
      hub.close();
    });
    logs.start();
    return { logs, streams, states, heard: () => heard };
  }

  /**
   * Lets virsh take the port while libvirtd sends output: the guest prints, and the stream is
   * not read until all buffers are full. Returns when virsh has the port and the stream is read again.
   * @returns the function that ends virsh.
   */
  async function takeOver(name: string, stream: Duplex): Promise<() => Promise<void>> {
    const pid = await host.libvirtd.guestPid(name);
    const writtenBytes = async () => /wchar: (\d+)/.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1];
    stream.pause();
    let [before, equal] = ['', 0];
    // libvirtd then has a message that it cannot send, so it does not notice that virsh ends the
    // stream.
    await until('the guest to be stuck', async () => {
      const now = String(await writtenBytes());
      equal = now === before ? equal + 1 : 0;
      before = now;
      // The guest is stuck if it has written nothing during 40 polls, which take a second.
      return equal === 40;
    });
    const command = `virsh --connect ${host.libvirtd.uri} console --force ${name}`;
    const virsh = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exited = once(virsh, 'exit');
    let seen = 0;
    virsh.stdout.on('data', (bytes: Buffer) => (seen += bytes.length));
    await until('virsh to show output', () => Promise.resolve(seen > 1_000));
    stream.resume();
    return async () => {
      virsh.stdin.write('\u001D');
      await exited;
    };
  }

  it('is replaced when the port is free, and the log marks the gap', async () => {
    const uuid = await printingGuest('lost');
    const { logs, streams, states, heard } = openHub(uuid, { firstMs: 500, maxMs: 1_000 });
    await until('output', () => Promise.resolve(heard() > 1_000));
    const [stream] = streams;
    if (stream === undefined) throw new Error('the console log has opened no stream');
    const leave = await takeOver('lost', stream);
    await leave();
    await until('the second stream', () =>
      Promise.resolve(states.filter((state) => state.startsWith('open')).length === 2),
    );
    const before = heard();
    await until('output of the second stream', () => Promise.resolve(heard() > before));
    const all = logs.ofSystem(uuid);
    const boots = (await all.read()).flatMap((record) => (record.kind === 'boot' ? record.boot.number : []));
    expect(boots).toHaveLength(1);
    expect(String(await all.text(boots[0] ?? 0))).toMatch(
      /x\s*\[rackless: nothing was recorded between .* and .*\]\s*x/,
    );
    expect(stream.destroyed).toBe(true);
    await driver.power('lost', 'destroy');
  });

  it('is closed when its machine is switched off, and the next start opens another stream', async () => {
    const uuid = await printingGuest('stopped');
    const { streams, states, heard } = openHub(uuid, { afterChangeMs: 100 });
    await until('output', () => Promise.resolve(heard() > 1_000));
    const [stream] = streams;
    if (stream === undefined) throw new Error('the console log has opened no stream');
    const leave = await takeOver('stopped', stream);
    await leave();
    await driver.power('stopped', 'destroy');
    await until('the report', () => Promise.resolve(states.at(-1) === 'closed: the machine is off'));
    const before = heard();
    await driver.power('stopped', 'create');
    await until('output of the next run', () => Promise.resolve(heard() > before));
    await driver.power('stopped', 'destroy');
  });
});
