import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { DriverError } from '../driver-error.js';
import { FakeDriver } from './fake-driver.js';

/** Reads until the text ends with `end`, and returns the text. */
async function read(stream: Duplex, end: string): Promise<string> {
  let text = '';
  while (!text.endsWith(end)) {
    const piece: unknown = stream.read();
    if (piece instanceof Buffer) text += piece.toString('latin1');
    else await once(stream, 'readable');
  }
  return text;
}

describe('consoles of the fake driver', () => {
  it('show the output of a start, and echo input as a terminal does', async () => {
    const driver = new FakeDriver();
    await driver.power('node-1', 'create');
    const stream = await driver.console.open('node-1');
    expect(await read(stream, 'login: ')).toBe(
      '\r\nRackless simulated firmware, machine 5ac4fa6e-0000-4000-8000-000000000001\r\n' +
        'Booting from hard disk...\r\n\r\nnode-1 login: ',
    );
    stream.write('rooo\x7f\x7ft\r');
    expect(await read(stream, 'login: ')).toBe('rooo\b \b\b \bt\r\nnode-1 login: ');
    stream.write('\x7f\x03');
    expect(await read(stream, 'login: ')).toBe('^C\r\nnode-1 login: ');
    await driver.console.sendBreak('node-1');
    expect(await read(stream, 'HELP\r\n')).toBe('\r\nsysrq: HELP\r\n');
    await driver.power('node-1', 'reset');
    expect(await read(stream, 'login: ')).toContain('Booting from hard disk');
    stream.destroy();
  });

  it('accept one client, and disconnect it when another client takes the port by force, and at a power-off', async () => {
    const driver = new FakeDriver();
    const first = await driver.console.open('node-2');
    const inUse = new DriverError(
      'consoleInUse',
      'connecting to the console of machine node-2: another client is connected',
    );
    await expect(driver.console.open('node-2')).rejects.toEqual(inUse);
    const closed = once(first, 'close');
    const release = driver.console.seize('node-2');
    await closed;
    await expect(driver.console.open('node-2')).rejects.toEqual(inUse);
    release();
    const second = await driver.console.open('node-2');
    const disconnected = once(second, 'close');
    await driver.power('node-2', 'destroy');
    await disconnected;
  });

  it('have another id for each run, and the same id after a reset', async () => {
    const driver = new FakeDriver();
    const first = await driver.console.instance('node-2');
    await driver.power('node-2', 'reset');
    expect(await driver.console.instance('node-2')).toBe(first);
    await driver.power('node-2', 'destroy');
    await driver.power('node-2', 'create');
    expect(await driver.console.instance('node-2')).not.toBe(first);
  });

  it('are not available while the machine is off', async () => {
    const driver = new FakeDriver();
    const off = new DriverError('conflict', 'using the console of machine node-1: it is off');
    await expect(driver.console.open('node-1')).rejects.toEqual(off);
    await expect(driver.console.sendBreak('node-1')).rejects.toEqual(off);
    await expect(driver.console.instance('node-1')).rejects.toEqual(off);
  });
});
