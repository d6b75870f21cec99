import { describe, expect, it, jest } from '@jest/globals';
import { createLog, type LogOptions } from './log.js';
import { renderJson } from './log-line.js';

const collect = (options: Partial<LogOptions> = {}) => {
  const written: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (lines) => written.push(lines), ...options });
  const lines = () => {
    log.flush();
    return written.join('').split('\n').slice(0, -1);
  };
  return { log, lines, written };
};
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
const parse = (line: string | undefined) => JSON.parse(line ?? '') as unknown;
const request = { id: 'r1', user: 'admin', method: 'GET', path: '/redfish/v1', status: 200, ms: 1.25 };

describe('createLog', () => {
  it('buffers the first lines until a flush, each with its own time', () => {
    jest.useFakeTimers({ now: Date.parse('2026-01-02T03:04:05.000Z') });
    try {
      const { log, lines, written } = collect();
      log.info('one');
      jest.advanceTimersByTime(100);
      log.info('two');
      expect(written).toEqual([]);
      expect(lines().map(parse)).toEqual([
        { time: '2026-01-02T03:04:05.000Z', level: 'info', message: 'one' },
        { time: '2026-01-02T03:04:05.100Z', level: 'info', message: 'two' },
      ]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('writes the time of each line with its milliseconds', () => {
    const times = ['2026-01-02T03:04:05.007Z', '2026-01-02T03:04:05.070Z', '2026-01-02T03:04:06.000Z'];
    const lines = times.map((time) => renderJson({ level: 'info', message: 'one', timeMs: Date.parse(time) }));
    expect(lines.map((line) => (parse(line) as { time: string }).time)).toEqual(times);
  });

  it('writes the first lines by itself if nothing flushes them', async () => {
    const line = await new Promise<string>((resolve) => {
      createLog({ level: 'info', format: 'json', write: resolve }).info('one');
    });
    expect(parse(line)).toEqual({ time: anyTime, level: 'info', message: 'one' });
  });

  it('adds the further fields of a request', () => {
    const more = { model: 'gpt', ttfbMs: 12.5, deployment: null };
    const json = collect();
    json.log.request({ ...request, more });
    expect(json.lines().map(parse)).toEqual([
      { time: anyTime, level: 'info', message: 'request', ...request, ...more },
    ]);
    const text = collect({ format: 'text' });
    text.log.request({ ...request, more, refused: 'why' });
    expect(text.lines()[0]?.slice(9)).toBe(
      'admin GET /redfish/v1 200 1.3 ms r1 model=gpt ttfbMs=12.5 deployment=null (why)',
    );
  });

  it('writes one JSON object per request with id, user, method, path, status and ms', () => {
    const { log, lines } = collect();
    log.request(request);
    expect(lines().map(parse)).toEqual([{ time: anyTime, level: 'info', message: 'request', ...request }]);
  });

  it('writes short text lines for a terminal', () => {
    const { log, lines } = collect({ format: 'text' });
    log.request(request);
    log.request({ ...request, user: null, status: 401, refused: 'wrong password' });
    log.warn('no such file', { file: '/etc/x', tries: 2 });
    expect(lines().map((line) => line.replace(/^\d\d:\d\d:\d\d/, 'TIME'))).toEqual([
      'TIME admin GET /redfish/v1 200 1.3 ms r1',
      'TIME - GET /redfish/v1 401 1.3 ms r1 (wrong password)',
      'TIME warn: no such file file=/etc/x tries=2',
    ]);
  });

  it('escapes control and bidirectional characters in JSON lines, so that a parser returns the same text', () => {
    const hostile = 'a\u009b2J\u007fb\u202ec\u2066d\u2028e\u001b"\\f';
    const { log, lines } = collect();
    log.request({ ...request, user: hostile, path: hostile });
    log.info(hostile, { account: hostile });
    for (const line of lines()) expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    const [first, second] = lines().map((line) => parse(line) as Record<string, unknown>); // the log writes objects
    expect([first?.['user'], first?.['path'], second?.['message'], second?.['account']]).toEqual(
      Array(4).fill(hostile),
    );
  });

  it('escapes control characters in text lines, so that no client can forge a second line', () => {
    const { log, lines } = collect({ format: 'text' });
    log.request({ ...request, user: 'eve\n00:00:00 admin GET /\u001b[2J' });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toContain('eve\\x0a00:00:00 admin GET /\\x1b[2J');
    log.info('account created', { account: 'a\u2028b\u202ec\u2066d' });
    expect(lines()[1]).toContain('account=a\\u2028b\\u202ec\\u2066d');
  });

  it('masks secrets by their names and in URLs, also in nested objects', () => {
    const { log, lines } = collect();
    log.info('inserting', {
      body: {
        Image: 'https://u:p@host/a.iso?token=x',
        UserName: 'me',
        Password: 'hunter2',
        list: [{ 'X-Auth-Token': 'abc' }],
        max_tokens: 5,
      },
      Authorization: 'Basic Zm9v',
      api_key: 'sk-1',
      url: new URL('http://host/a?b=c'),
    });
    expect(parse(lines()[0])).toEqual({
      time: anyTime,
      level: 'info',
      message: 'inserting',
      body: {
        Image: 'https://host/a.iso?******',
        UserName: 'me',
        Password: '******',
        list: [{ 'X-Auth-Token': '******' }],
        max_tokens: 5,
      },
      Authorization: '******',
      api_key: '******',
      url: 'http://host/a?******',
    });
  });

  it('writes [nested] in place of a deeply nested object, whose secrets it would not mask', () => {
    const { log, lines } = collect();
    log.info('inserting', { a: { b: { c: { d: { e: { f: 1, g: { Password: 'hunter2' } } } } } } });
    expect(parse(lines()[0])).toMatchObject({ a: { b: { c: { d: { e: { f: 1, g: '[nested]' } } } } } });
  });

  it('writes an error with all its causes', () => {
    const { log, lines } = collect();
    log.error('answering failed', { error: new Error('reading a on b', { cause: new Error('socket closed') }) });
    expect(parse(lines()[0])).toEqual({
      time: anyTime,
      level: 'error',
      message: 'answering failed',
      error: expect.stringMatching(/^reading a on b: socket closed \[at /),
    });
  });

  it('writes the text of a cause once if the error repeats it', () => {
    const { log, lines } = collect({ level: 'info' });
    const socket = new Error('connect ENOENT /s');
    const connecting = new Error('connecting to qemu:///system: connect ENOENT /s', { cause: socket });
    const error = new Error('listing: connecting to qemu:///system: connect ENOENT /s', { cause: connecting });
    log.warn('no connection', { error });
    log.warn('no connection', { error: new Error('', { cause: new Error('', { cause: socket }) }) });
    expect(lines().map((line) => (parse(line) as { readonly error: string }).error)).toEqual([
      expect.stringMatching(/^listing: connecting to qemu:\/\/\/system: connect ENOENT \/s(?: \[at |$)/),
      expect.stringMatching(/^(?:: )*connect ENOENT \/s(?: \[at |$)/),
    ]);
  });

  it('ignores messages below its level', () => {
    const { log, lines } = collect({ level: 'warn' });
    log.info('quiet');
    log.request(request);
    log.warn('loud');
    expect(lines()).toHaveLength(1);
  });

  it('joins the lines of one event loop iteration, and writes errors immediately', async () => {
    const { log, written } = collect();
    log.error('first');
    written.length = 0;
    log.info('one');
    log.info('two');
    expect(written).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written.map((lines) => lines.split('\n').length - 1)).toEqual([2]);
    log.error('three');
    expect(written).toHaveLength(2);
  });
});
