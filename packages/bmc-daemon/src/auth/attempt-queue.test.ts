import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import type { Verdict } from './attempt-lanes.js';
import { AttemptQueue, attemptLimits, type AttemptLimits } from './attempt-queue.js';

/** How long one verification takes in these tests. */
const VERIFY_MS = 100;
const { pair: pairLimits, address: addressLimits, waitMs } = attemptLimits;
/** Number of gaps before the longest one: 500 ms, 1, 2 and 4 s for a pair; 100, 200, 400 and 800 ms for an address. */
const GROWING_GAPS = 4;

/**
 * Returns the maximum number of attempts that a pace admits in `ms` milliseconds: those without a gap before them,
 * those after a growing gap, and those after the longest gap.
 */
const admittedAttempts = ({ free, maxGapMs }: typeof pairLimits, ms: number): number =>
  free + 1 + GROWING_GAPS + ms / maxGapMs;

interface Answer {
  readonly verdict: Verdict;
  /** When the answer came, in milliseconds of the fake clock. */
  readonly at: number;
}

interface SentAttempt {
  readonly address: string;
  readonly user: string;
  /** Whether the account exists. Default: true. */
  readonly exists?: boolean;
  /** Whether the password is right. Default: false. */
  readonly right?: boolean;
  readonly isGone?: () => boolean;
}

interface SimulatedEvent {
  /** When it happens, in milliseconds of the fake clock. */
  readonly at: number;
  readonly call: () => void;
}

/**
 * A queue with a fake clock that jumps from event to event. So a minute with a thousand attackers
 * takes only a moment, and the result is always the same.
 */
class Simulation {
  readonly queue: AttemptQueue;
  time = 0;
  /** Verifications that ran. */
  readonly verified: { readonly at: number; readonly user: string; readonly address: string }[] = [];
  /** Events that have not happened yet, in the order of their creation. */
  readonly #events = new Set<SimulatedEvent>();

  constructor(limits: Partial<AttemptLimits> = {}) {
    this.queue = new AttemptQueue(
      { ...attemptLimits, ...limits },
      { now: () => this.time, after: (ms, call) => this.after(ms, call) },
    );
  }

  after(ms: number, call: () => void): () => void {
    const event = { at: this.time + ms, call };
    this.#events.add(event);
    return () => void this.#events.delete(event);
  }

  async ask({ address, user, exists = true, right = false, isGone = () => false }: SentAttempt): Promise<Answer> {
    const verdict = await this.queue.verifyInTurn({
      address,
      pair: `${user} ${address}`,
      account: exists ? user : null,
      isGone,
      verify: () => {
        this.verified.push({ at: this.time, user, address });
        return new Promise((resolve) => this.after(VERIFY_MS, () => resolve(right)));
      },
    });
    return { verdict, at: this.time };
  }

  /** Sends guess after guess until the time `until`, each after the answer to the previous one. Adds to `answers`. */
  async guess(until: number, sentAt: (attempt: number) => SentAttempt, answers: Answer[] = []): Promise<void> {
    for (let attempt = 0; this.time < until; attempt += 1) answers.push(await this.ask(sentAt(attempt)));
  }

  /** Moves the clock forward until no event is left, or until a given time. */
  async run(until = Infinity): Promise<void> {
    for (;;) {
      await turn();
      const next = this.#next();
      if (next === undefined || next.at > until) break;
      this.#events.delete(next);
      this.time = next.at;
      next.call();
    }
    this.time = Math.max(this.time, Math.min(until, Number.MAX_SAFE_INTEGER));
  }

  /** Returns the earliest event; of several at the same time, the one that was created first. */
  #next(): SimulatedEvent | undefined {
    let first: SimulatedEvent | undefined;
    for (const event of this.#events) if (first === undefined || event.at < first.at) first = event;
    return first;
  }
}

const otherAddress = (at: number): string => `198.51.${Math.floor(at / 250)}.${at % 250}`;
/** Returns the answers with a result, right or wrong, until a given time. */
const withResult = (answers: readonly Answer[], until = Infinity) =>
  answers.filter(({ verdict, at }) => 'right' in verdict && at <= until);

describe('the queue of logins', () => {
  it.each<[string, (guesser: number, attempt: number) => Omit<SentAttempt, 'address'>, (user: number) => string]>([
    ['guess one name, also from the address of the users', () => ({ user: 'root', exists: false }), () => 'nat'],
    ['guess one account, also from the address of the users', () => ({ user: 'admin' }), () => 'nat'],
    [
      'always guess new names, also from the address of the users',
      (guesser, attempt) => ({ user: `name ${guesser} ${attempt}`, exists: false }),
      () => 'nat',
    ],
    [
      'guess the accounts of the users, who come from new addresses',
      (guesser) => ({ user: `user ${guesser % 10}` }),
      (user) => `203.0.113.${user}`,
    ],
  ])(
    'accepts ten users within 10 s while 80 attackers at one address and 1,000 at other addresses %s',
    async (_, guessed, from) => {
      const simulation = new Simulation();
      const began = 12_000;
      const end = began + 10_000;
      const guessers = [
        ...Array.from({ length: 80 }, () => 'nat'),
        ...Array.from({ length: 1000 }, (__, at) => otherAddress(at)),
      ].map((address, guesser) => simulation.guess(end, (attempt) => ({ address, ...guessed(guesser, attempt) })));
      await simulation.run(began);
      const users = Array.from({ length: 10 }, (__, at) =>
        simulation.ask({ address: from(at), user: `user ${at}`, right: true }),
      );
      await simulation.run(end);
      for (const answer of await Promise.all(users)) {
        expect(answer.verdict).toEqual({ right: true });
        expect(answer.at).toBeLessThanOrEqual(end);
      }
      await simulation.run();
      await Promise.all(guessers);
    },
  );

  it('accepts the owner of an attacked account from a new address within two verifications', async () => {
    const simulation = new Simulation();
    const guessers = Array.from({ length: 1000 }, (_, at) =>
      simulation.guess(40_000, () => ({ address: otherAddress(at), user: 'admin' })),
    );
    await simulation.run(30_000);
    const { verdict, at } = await Promise.race([
      simulation.ask({ address: '203.0.113.1', user: 'admin', right: true }),
      simulation.run().then(() => Promise.reject(new Error('the simulation ended before the login'))),
    ]);
    expect(verdict).toEqual({ right: true });
    expect(at).toBeLessThanOrEqual(30_000 + 2 * VERIFY_MS);
    await Promise.all(guessers);
  });

  it('answers at most at the configured rates for an address, and for a user at an address', async () => {
    const simulation = new Simulation();
    const seconds = 120;
    const answers: Answer[] = [];
    const onePair = Array.from({ length: 80 }, () =>
      simulation.guess(seconds * 1000, () => ({ address: 'a', user: 'admin' }), answers),
    );
    await simulation.run();
    await Promise.all(onePair);
    expect(withResult(answers, seconds * 1000).length).toBeLessThanOrEqual(
      admittedAttempts(pairLimits, seconds * 1000),
    );
    // Each of the two lanes verifies up to this number. The last attempts may wait for `waitMs` after the end.
    expect(simulation.verified.length).toBeLessThanOrEqual(2 * admittedAttempts(pairLimits, seconds * 1000 + waitMs));

    const other = new Simulation();
    const named: Answer[] = [];
    const oneAddress = Array.from({ length: 80 }, (_, guesser) =>
      other.guess(
        seconds * 1000,
        (attempt) => ({ address: 'a', user: `name ${guesser} ${attempt}`, exists: false }),
        named,
      ),
    );
    await other.run();
    await Promise.all(oneAddress);
    expect(withResult(named, seconds * 1000).length).toBeLessThanOrEqual(
      admittedAttempts(addressLimits, seconds * 1000),
    );
    expect(withResult(named, seconds * 1000).length).toBeGreaterThan(seconds / 2);
  });

  it('does not show by the duration of a login whether a user exists, even if many logins wait', async () => {
    /** Returns the answers to guessers of the name `eve`, while others guess the passwords of 60 unknown names. */
    const answersOfOneName = async (exists: boolean): Promise<readonly Answer[]> => {
      const simulation = new Simulation();
      const answers: Answer[] = [];
      const crowd = Array.from({ length: 60 }, (_, at) =>
        simulation.guess(30_000, () => ({ address: otherAddress(at % 40), user: `other ${at}`, exists: false })),
      );
      const guessers = Array.from({ length: 8 }, (_, at) =>
        simulation.guess(30_000, () => ({ address: `mine ${at % 4}`, user: 'eve', exists }), answers),
      );
      await simulation.run();
      await Promise.all([...crowd, ...guessers]);
      return answers;
    };
    const unknown = await answersOfOneName(false);
    expect(withResult(unknown).length).toBeGreaterThan(20);
    expect(await answersOfOneName(true)).toEqual(unknown);
  });

  it('serves addresses in turn, and the users of an address in turn', async () => {
    const simulation = new Simulation({ waitMs: 60_000 });
    // The first `a 1` starts at once, before the other addresses arrive. So `a` precedes them again in the next turn.
    const names = ['a 1', 'a 1', 'a 1', 'a 2', 'b 1', 'b 1', 'c 1'];
    const sent = names.map((name) => simulation.ask({ address: name.charAt(0), user: name, exists: false }));
    await simulation.run();
    await Promise.all(sent);
    expect(simulation.verified.map(({ user }) => user)).toEqual(['a 1', 'a 1', 'b 1', 'c 1', 'a 2', 'b 1', 'a 1']);
  });

  it('ends each login that still waits after the maximum time, and reports when to retry', async () => {
    const simulation = new Simulation({ waitMs: 250 });
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, (_, at) => simulation.ask({ address: `${at}`, user: 'eve', exists: false })),
      simulation.run(),
    ]);
    const wrong = { right: false };
    const late = { retryAfterMs: 1000 };
    expect(answers.slice(0, 5)).toEqual([
      { verdict: wrong, at: 100 },
      { verdict: wrong, at: 200 },
      { verdict: wrong, at: 300 },
      { verdict: late, at: 250 },
      { verdict: late, at: 250 },
    ]);
  });

  it('drops the newest attempt of the busiest user or of the busiest address if too many attempts wait', async () => {
    const simulation = new Simulation({ maxWaiting: 6, maxWaitingOfAddress: 4 });
    const dropped: string[] = [];
    const send = (address: string, user: string) =>
      void simulation.ask({ address, user, exists: false }).then(({ verdict, at }) => {
        if ('retryAfterMs' in verdict && at === 0) dropped.push(`${address} ${user}`);
      });
    send('running', 'x');
    for (const user of ['1', '1', '1', '2', '3']) send('a', user);
    await turn();
    // Address `a` may have four waiting attempts. The queue drops the newest one of the busiest user, `a 1`.
    expect(dropped).toEqual(['a 1']);
    send('b', '1');
    send('c', '1');
    await turn();
    expect(dropped).toEqual(['a 1']);
    send('d', '1');
    await turn();
    expect(dropped).toEqual(['a 1', 'a 3']);
    await simulation.run();
  });

  it('does not verify logins of clients that have disconnected', async () => {
    const simulation = new Simulation();
    let hasLeft = false;
    const sent = [
      simulation.ask({ address: 'a', user: 'eve', exists: false }),
      simulation.ask({ address: 'b', user: 'eve', exists: false, isGone: () => hasLeft }),
    ];
    hasLeft = true;
    await simulation.run();
    expect((await Promise.all(sent))[1]?.verdict).toEqual({ retryAfterMs: 1000 });
    expect(simulation.verified).toHaveLength(1);
  });

  it('rejects an attempt with the error of its verification, and continues with the next attempt', async () => {
    const simulation = new Simulation();
    const attempt = { address: 'a', pair: 'p', account: 'eve', isGone: () => false };
    const failing = simulation.queue.verifyInTurn({ ...attempt, verify: () => Promise.reject(new Error('no thread')) });
    await expect(failing).rejects.toThrow('no thread');
    const next = simulation.ask({ address: 'a', user: 'eve', right: true });
    await simulation.run();
    expect((await next).verdict).toEqual({ right: true });
  });
});
