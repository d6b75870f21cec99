import { describe, expect, it } from '@jest/globals';
import { parseHtpasswd } from './htpasswd.js';

const BODY = 'abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234';
const bcryptHash = (prefix: string, cost: string) => `$${prefix}$${cost}$${BODY}`;

function read(text: string) {
  const { entries, faults, warnings } = parseHtpasswd(text);
  const lines = (list: typeof faults) => list.map(({ line, message }) => `${line}: ${message}`);
  return { entries: [...entries.values()], faults: lines(faults), warnings: lines(warnings) };
}

describe('htpasswd files', () => {
  it('may have all three bcrypt prefixes, comments, blank lines, all line ends, and names with spaces', () => {
    const text =
      `\uFEFF# admins\r\nadmin:${bcryptHash('2y', '05')}\r\n\r\n   \n` +
      `ünï cödé:${bcryptHash('2b', '12')}  \nold:${bcryptHash('2a', '10')}:more`;
    expect(read(text)).toEqual({
      entries: [
        { user: 'admin', hash: bcryptHash('2y', '05'), cost: 5, line: 2 },
        { user: 'ünï cödé', hash: bcryptHash('2b', '12'), cost: 12, line: 5 },
        { user: 'old', hash: bcryptHash('2a', '10'), cost: 10, line: 6 },
      ],
      faults: [],
      warnings: [],
    });
  });

  it.each([
    ['a:$apr1$x$y', 'the password is hashed with MD5 (htpasswd -m, its default), which is not accepted'],
    ['a:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=', 'the password is hashed with SHA-1 (htpasswd -s), which is not accepted'],
    ['a:$6$salt$hash', 'the password is hashed with crypt, which is not accepted'],
    ['a:$y$j9T$salt$hash', 'the password is hashed with crypt, which is not accepted'],
    ['a:plain', 'the password is plain text or hashed with crypt (htpasswd -p, -d), which is not accepted'],
    ['a:', 'there is no password, which is not accepted'],
    [`a:${bcryptHash('2y', '05').slice(0, -1)}`, 'the bcrypt hash is damaged, which is not accepted'],
    [`a:${bcryptHash('2x', '05')}`, 'the bcrypt hash is damaged, which is not accepted'],
    [`a:${bcryptHash('2y', '18')}`, 'a bcrypt cost of 18 is not accepted, only 4 to 17'],
    [`a:${bcryptHash('2y', '03')}`, 'a bcrypt cost of 3 is not accepted, only 4 to 17'],
    ['nobody', "'user:hash' was expected"],
    [`:${bcryptHash('2y', '05')}`, "'user:hash' was expected"],
  ])('have a fault for the line %s, with its number and without its hash', (line, reason) => {
    const result = read(`# first\n${line}\nb:${bcryptHash('2b', '10')}\n`);
    expect(result).toEqual({
      entries: [{ user: 'b', hash: bcryptHash('2b', '10'), cost: 10, line: 3 }],
      faults: [`2: ${reason}; make a bcrypt hash with: bmc-daemon htpasswd FILE USER`],
      warnings: [],
    });
  });

  it('have an entry only for the first of two lines of a user, as in Apache, and a warning about the second', () => {
    expect(read(`a:${bcryptHash('2b', '10')}\nb:${bcryptHash('2b', '10')}\na:${bcryptHash('2b', '11')}\n`)).toEqual({
      entries: [
        { user: 'a', hash: bcryptHash('2b', '10'), cost: 10, line: 1 },
        { user: 'b', hash: bcryptHash('2b', '10'), cost: 10, line: 2 },
      ],
      faults: [],
      warnings: ['3: the user is already on line 1, and that line is used'],
    });
  });
});
