import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Terminal } from './terminal.js';

function openTerminal() {
  // Both streams write into the same text, as on a terminal. Terminal uses only `write` and `isTTY`.
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true }) as unknown as NodeJS.WriteStream;
  return { stream, terminal: new Terminal({ stdin: process.stdin, stdout: stream, stderr: stream }) };
}

it.each<[string, (terminal: Terminal) => void, string]>([
  ['print', (terminal) => terminal.print('a'), 'a\n'],
  ['printTabbed', (terminal) => terminal.printTabbed([['a', 'b']]), 'a\tb\n'],
  ['printJson', (terminal) => terminal.printJson(['a']), '[\n  "a"\n]\n'],
  ['printJsonLine', (terminal) => terminal.printJsonLine(['a']), '["a"]\n'],
])('the terminal removes the status line before the output of %s', (_, print, output) => {
  const { stream, terminal } = openTerminal();
  terminal.showStatus('read 1 of 2 machines');
  print(terminal);
  expect(stream.read()).toBe(`\r\x1b[Kread 1 of 2 machines\r\x1b[K${output}`);
});

it('the terminal shows the status line of the older service again when that of the newer service ends', () => {
  const { stream, terminal } = openTerminal();
  const written = (): unknown => stream.read();
  terminal.showStatus('2 tasks');
  const [closeA, closeB] = [terminal.openStatus('a is busy'), terminal.openStatus('b is busy')];
  expect(written()).toBe('\r\x1b[K2 tasks\r\x1b[Ka is busy\r\x1b[Kb is busy (and 1 more)');
  closeB();
  expect(written()).toBe('\r\x1b[Ka is busy');
  terminal.print('done');
  expect(written()).toBe('\r\x1b[Kdone\n\r\x1b[Ka is busy');
  closeA();
  closeA();
  expect(written()).toBe('\r\x1b[K');
});
