import { beforeEach, describe, expect, it } from '@jest/globals';
import { createSessions, type LocalSessions } from './sessions.js';

let time: number;
let hashes: Map<string | null, string>;
let sessions: LocalSessions;

beforeEach(() => {
  time = 0;
  hashes = new Map([
    ['admin', 'hash 1'],
    ['eve', 'hash 2'],
  ]);
  sessions = createSessions({
    now: () => time,
    idleMs: () => 1000,
    hashOf: (user) => hashes.get(user),
    perUser: 3,
    total: 5,
  });
});

function open(user: string | null) {
  const opened = sessions.create({ user, address: '192.0.2.1' });
  if (opened === undefined) throw new Error(`${String(user)} cannot open a session`);
  return opened;
}

describe('sessions', () => {
  it('can be used only with their exact token, and can be found by their id', () => {
    const { session, token } = open('admin');
    expect(session).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
      user: 'admin',
      createdAt: expect.any(Date) as unknown,
      address: '192.0.2.1',
      type: 'Redfish',
    });
    expect(token).not.toContain(session.id);
    expect(sessions.use(token)).toBe(session);
    expect(sessions.find(session.id)).toBe(session);
    expect(sessions.use(session.id)).toBeUndefined();
    expect(sessions.use('')).toBeUndefined();
    expect(sessions.use(token.toUpperCase())).toBeUndefined();
  });

  it('end after their idle time, which a use restarts and a read of the list does not', () => {
    const { session, token } = open('admin');
    time = 1000;
    expect(sessions.use(token)).toBe(session);
    time = 2000;
    expect(sessions.list()).toEqual([session]);
    time = 2001;
    expect(sessions.list()).toEqual([]);
    expect([sessions.use(token), sessions.find(session.id), sessions.end(session.id)]).toEqual([
      undefined,
      undefined,
      false,
    ]);
  });

  it('end for one user with endAll, and continue for other users', () => {
    const [one, two, other] = [open('admin'), open('admin'), open('eve')];
    sessions.endAll('admin');
    expect([sessions.use(one.token), sessions.use(two.token)]).toEqual([undefined, undefined]);
    expect(sessions.list()).toEqual([other.session]);
  });

  it('end when their account is removed or its password changes, except a session that adopts the new hash', () => {
    const [one, two] = [open('admin'), open('admin')];
    const other = open('eve');
    hashes.set('admin', 'hash 3');
    sessions.adoptNewHash(one.session.id);
    expect(sessions.use(one.token)).toBe(one.session);
    expect(sessions.use(two.token)).toBeUndefined();
    hashes.delete('eve');
    expect(sessions.use(other.token)).toBeUndefined();
    expect(sessions.create({ user: 'eve', address: '' })).toBeUndefined();
    sessions.adoptNewHash('unknown');
  });

  it('end, the least recently used first, when a new one exceeds the limit for its user or for all users', () => {
    const [first, second, third] = [open('admin'), open('admin'), open('admin')];
    time = 10;
    sessions.use(first.token);
    const fourth = open('admin');
    expect(sessions.list()).toEqual([first.session, third.session, fourth.session]);
    expect(sessions.use(second.token)).toBeUndefined();
    const [fifth, sixth] = [open('eve'), open('eve')];
    time = 20;
    const seventh = open('eve');
    expect(sessions.list()).toEqual([first, fourth, fifth, sixth, seventh].map(({ session }) => session));
  });

  it('have no idle time and no limit if they are for consoles, and a session for a console never ends others', () => {
    const redfish = [open('admin'), open('admin'), open('admin')].map(({ session }) => session);
    const consoles = [1, 2, 3, 4, 5].flatMap(
      () => sessions.create({ user: 'admin', address: '192.0.2.1', type: 'HostConsole' }) ?? [],
    );
    expect(sessions.list()).toEqual([...redfish, ...consoles.map(({ session }) => session)]);
    const eve = sessions.create({ user: 'eve', address: '', type: 'HostConsole' });
    time = 1_000_000;
    const [first, ...others] = consoles.map(({ session }) => session);
    if (first === undefined || eve === undefined) throw new Error('both users can open sessions');
    expect(sessions.end(first.id)).toBe(true);
    expect(sessions.list()).toEqual([...others, eve.session]);
    hashes.delete('eve');
    expect(sessions.find(eve.session.id)).toBeUndefined();
  });

  it('can be ended by their id; a second attempt returns false', () => {
    const { session, token } = open('admin');
    expect([sessions.end(session.id), sessions.end(session.id)]).toEqual([true, false]);
    expect(sessions.use(token)).toBeUndefined();
  });
});
