import { describe, expect, it } from '@jest/globals';
import { readBasicCredentials } from './basic-credentials.js';

const basic = (text: string, encoding: BufferEncoding = 'utf8') =>
  `Basic ${Buffer.from(text, encoding).toString('base64')}`;

describe('readBasicCredentials', () => {
  it.each([
    ['a plain pair', basic('admin:secret'), 'admin', 'secret'],
    ['a password with colons', basic('admin:a:b::'), 'admin', 'a:b::'],
    ['an empty password', basic('admin:'), 'admin', ''],
    ['an empty name', basic(':secret'), '', 'secret'],
    ['UTF-8', basic('zoë:pässwörd€'), 'zoë', 'pässwörd€'],
    ['Latin-1, which python-requests sends', basic('zoë:pässwörd', 'latin1'), 'zoë', 'pässwörd'],
    ['any case of the scheme and more spaces', basic('a:b').replace('Basic ', 'bASIC  '), 'a', 'b'],
  ])('reads %s', (_, header, user, password) => {
    const credentials = readBasicCredentials(header);
    expect({ user: credentials?.user, password: credentials?.password.toString('utf8') }).toEqual({ user, password });
  });

  it.each([
    ['no header', undefined],
    ['another scheme', 'Bearer abc'],
    ['no base64', 'Basic %%%'],
    ['nothing behind the scheme', 'Basic '],
    ['two values', `${basic('a:b')} ${basic('a:b')}`],
    ['no colon', basic('admin')],
    ['a control character in the name', basic('ad\nmin:secret')],
    ['a NUL in the password', basic('admin:sec\0ret')],
  ])('returns undefined for %s', (_, header) => {
    expect(readBasicCredentials(header)).toBeUndefined();
  });
});
