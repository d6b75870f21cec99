import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Terminal } from './terminal.js';

it.each<[string, (terminal: Terminal) => void, string]>([
  ['print', (terminal) => terminal.print('a'), 'a\n'],
  ['printTabbed', (terminal) => terminal.printTabbed([['a', 'b']]), 'a\tb\n'],
  ['printJson', (terminal) => terminal.printJson(['a']), '[\n  "a"\n]\n'],
  ['printJsonLine', (terminal) => terminal.printJsonLine(['a']), '["a"]\n'],
])('the terminal removes the status line before the output of %s', (_, print, output) => {
  // Both streams write into the same text, as on a terminal. Terminal uses only `write` and `isTTY`.
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true }) as unknown as NodeJS.WriteStream;
  const terminal = new Terminal({ stdin: process.stdin, stdout: stream, stderr: stream });
  terminal.showStatus('read 1 of 2 machines');
  print(terminal);
  expect(stream.read()).toBe(`\r\x1b[Kread 1 of 2 machines\r\x1b[K${output}`);
});
