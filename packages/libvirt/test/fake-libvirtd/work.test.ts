import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Link } from '../../src/link/link.js';
import { openLink } from '../../src/link/open-link.js';
import { authProcedures } from '../../src/protocol/auth.js';
import { connectProcedures } from '../../src/protocol/connect.js';
import { domainProcedures } from '../../src/protocol/domain.js';
import { type FakeCall, FakeLibvirtd } from '../fake/fake-libvirtd.js';
import { failureOf, until } from '../fake/until.js';

const { getHostname, open, supportsFeature } = connectProcedures;
const { getXmlDesc, reset, destroyFlags } = domainProcedures;

const domainOf = (number: number): { name: string; uuid: string; id: number } => ({
  name: `vm${number}`,
  uuid: `00000000-0000-0000-0000-0000000000${String(number).padStart(2, '0')}`,
  id: number,
});

/** A received reset, with a function that answers it. */
interface Arrived {
  readonly name: string;
  readonly call: FakeCall;
  readonly answer: () => void;
}

let fake: FakeLibvirtd;
let link: Link;
let resets: Arrived[];

beforeEach(async () => {
  fake = await FakeLibvirtd.start();
  resets = [];
  fake.on(reset, (args, call) => {
    return new Promise((resolve) => {
      resets.push({ name: args.domain.name, call, answer: () => resolve(undefined) });
    });
  });
  fake.on(destroyFlags, () => undefined);
  fake.on(getHostname, () => 'host');
  link = openLink(fake.uri, { backoff: { firstMs: 5, maxMs: 20 } });
});
afterEach(async () => {
  await link.close();
  await fake.stop();
});

/** Sends a reset of the domain with this number. */
const resetOf = (number: number, options = {}): Promise<undefined> =>
  link.work(domainOf(number).uuid, reset, { domain: domainOf(number), flags: 0 }, options);
/** Sends a reset that libvirtd does not answer and that its caller aborts. */
async function giveUp(number: number): Promise<unknown> {
  const controller = new AbortController();
  const before = resets.length;
  const failure = failureOf(resetOf(number, { signal: controller.signal }));
  await until('the reset to arrive', () => resets.length > before);
  controller.abort();
  return await failure;
}
const arrived = (): string[] => resets.map((each) => each.name);

describe('work', () => {
  it('uses its own connection, which the client opens at the first use', async () => {
    await link.connected();
    expect(fake.clients).toHaveLength(1);
    await link.work(null, getHostname, undefined);
    expect(fake.clients).toHaveLength(2);
    // The client registers no events on this connection.
    const expected = [authProcedures.list, supportsFeature, open, getHostname];
    expect(fake.clients[1]?.calls).toEqual(expected.map(({ number }) => number));
  });

  it('runs one call per domain at a time, in order, also for the UUID in upper case', async () => {
    const done: string[] = [];
    const { uuid } = { uuid: 'aaaaaaaa-0000-0000-0000-000000000001' };
    const calls = ['first', 'second', 'third'].map((name, at) =>
      link
        .work(at === 1 ? uuid.toUpperCase() : uuid, reset, { domain: { ...domainOf(1), name }, flags: 0 })
        .then(() => done.push(name)),
    );
    for (const expected of ['first', 'second', 'third']) {
      await until(`the ${expected}`, () => resets.length > 0 && resets.at(-1)?.name === expected);
      resets.at(-1)?.answer();
    }
    await Promise.all(calls);
    expect(arrived()).toEqual(['first', 'second', 'third']);
    expect(done).toEqual(['first', 'second', 'third']);
  });

  it('runs at most four calls in parallel, in the order of arrival', async () => {
    const calls = Array.from({ length: 10 }, (_, number) => resetOf(number));
    await until('four calls', () => resets.length === 4);
    // A fifth call would have arrived before the reply on the other connection.
    await link.call(getHostname, undefined);
    expect(arrived()).toEqual(['vm0', 'vm1', 'vm2', 'vm3']);
    for (let number = 0; number < 10; number += 1) {
      await until(`call ${number}`, () => resets.length > number);
      resets[number]?.answer();
    }
    await Promise.all(calls);
    expect(arrived()).toEqual(Array.from({ length: 10 }, (_, number) => `vm${number}`));
    expect(fake.everyClient).toHaveLength(2);
  });

  it('does not block other domains if one is busy', async () => {
    void resetOf(1);
    void resetOf(1).catch(() => undefined);
    const other = resetOf(2);
    await until('both domains', () => resets.length === 2);
    expect(arrived()).toEqual(['vm1', 'vm2']);
    resets[1]?.answer();
    await other;
    for (const each of resets) each.answer();
    await until('the queued call', () => resets.length === 3);
    resets[2]?.answer();
  });

  it('does not delay reads, even if four of its calls run', async () => {
    for (let number = 0; number < 4; number += 1) resetOf(number).catch(() => undefined);
    await until('four calls', () => resets.length === 4);
    await expect(link.call(getHostname, undefined)).resolves.toBe('host');
  });

  it('lets a power-off overtake an aborted reset', async () => {
    expect(await giveUp(1)).toMatchObject({ code: 'CALL_ABORTED', mayHaveRun: true });
    await link.work(domainOf(1).uuid, destroyFlags, { domain: domainOf(1), flags: 0 });
    expect(fake.everyClient).toHaveLength(2);
  });

  it('no longer counts an aborted call as running after libvirtd has answered it', async () => {
    await link.connected();
    await link.work(null, getHostname, undefined);
    for (const number of [1, 2, 3]) await giveUp(number);
    for (const each of resets) each.answer();
    // A reply to a later call shows that the replies to the resets have arrived.
    await link.work(null, getHostname, undefined);
    const calls = [4, 5, 6, 7].map((number) => resetOf(number));
    await until('four more calls', () => resets.length === 7);
    for (const each of resets) each.answer();
    await Promise.all(calls);
    expect(fake.everyClient).toHaveLength(2);
  });

  it('opens a new connection if aborted and running calls reach the limit of its connection', async () => {
    for (const number of [1, 2, 3]) await giveUp(number);
    const held = resetOf(4);
    await until('the fourth reset', () => resets.length === 4);
    const [, starved] = fake.everyClient;
    const fresh = resetOf(5);
    await until('the fifth reset', () => resets.length === 5);
    expect(fake.everyClient).toHaveLength(3);
    expect(resets[4]?.call.client).toBe(fake.everyClient[2]);
    // The old connection remains open until the last awaited call ends.
    resets[3]?.answer();
    await held;
    await until('the old connection to close', () => starved !== undefined && !fake.clients.includes(starved));
    resets[4]?.answer();
    await fresh;
    expect(link.state).toBe('connected');
  });

  it('runs at most four calls in parallel over all connections; aborted calls do not count', async () => {
    await giveUp(1);
    const calls = [2, 3, 4, 5, 6].map((number) => resetOf(number));
    await until('the four calls', () => resets.length === 5);
    await link.call(getHostname, undefined);
    expect(arrived()).toEqual(['vm1', 'vm2', 'vm3', 'vm4', 'vm5']);
    expect(fake.everyClient).toHaveLength(3);
    for (const each of resets) each.answer();
    await until('the last reset', () => resets.length === 6);
    resets[5]?.answer();
    await Promise.all(calls);
  });

  it('can time out and be aborted while it is queued, with mayHaveRun false', async () => {
    void resetOf(1).catch(() => undefined);
    await until('the first reset', () => resets.length === 1);
    await expect(resetOf(1, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
      mayHaveRun: false,
      message: `calling domainReset: waited 20 ms for an earlier call to domain ${domainOf(1).uuid}, never sent`,
    });
    const controller = new AbortController();
    const waiting = failureOf(resetOf(1, { signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'CALL_ABORTED', mayHaveRun: false });
    resets[0]?.answer();
    await link.work(domainOf(1).uuid, getHostname, undefined);
    expect(resets).toHaveLength(1);
  });

  it('fails if its connection is lost: sent calls may have run, queued calls have not', async () => {
    const calls = [1, 1, 2, 3, 4, 5].map((number) => failureOf(resetOf(number)));
    await until('four calls', () => resets.length === 4);
    fake.clients[1]?.drop();
    const errors = await Promise.all(calls);
    expect(errors.map((error) => (error as { code: string; mayHaveRun: boolean }).mayHaveRun)).toEqual([
      true,
      false,
      true,
      true,
      true,
      false,
    ]);
    for (const error of errors) expect(error).toMatchObject({ code: 'CONNECTION_LOST' });
    // The next call opens a new connection.
    await expect(link.work(domainOf(1).uuid, getHostname, undefined)).resolves.toBe('host');
  });
});

describe('a query', () => {
  const query = (number: number, timeoutMs = 10_000): Promise<string> =>
    link.query(domainOf(number).uuid, getXmlDesc, { domain: domainOf(number), flags: 0 }, { timeoutMs });

  it('blocks only queries of the same domain after its timeout, until its reply arrives', async () => {
    const asked: string[] = [];
    let answerFirst = (): void => undefined;
    fake.on(getXmlDesc, ({ domain }) => {
      asked.push(domain.name);
      if (domain.name !== 'vm1' || asked.indexOf('vm1') !== asked.length - 1) return '<domain/>';
      return new Promise((resolve) => {
        answerFirst = () => resolve('<domain/>');
      });
    });
    // This query opens the connection, so that the time limit of the next query does not include the opening.
    expect(await query(2)).toBe('<domain/>');
    const first = failureOf(query(1, 100));
    expect(await first).toMatchObject({ code: 'CALL_TIMEOUT', mayHaveRun: true });
    expect(await failureOf(query(1, 100))).toMatchObject({ code: 'CALL_TIMEOUT', mayHaveRun: false });
    expect(await query(2)).toBe('<domain/>');
    expect(asked).toEqual(['vm2', 'vm1', 'vm2']);
    answerFirst();
    // A reply to a later call shows that the reply to the first query has arrived.
    await query(2);
    expect(await query(1)).toBe('<domain/>');
    expect(asked).toEqual(['vm2', 'vm1', 'vm2', 'vm2', 'vm1']);
  });
});
