import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HostWatch } from './host-watch.js';

/** A host whose pings the test answers. */
class Pings {
  answer: () => void = () => undefined;
  refuse: (error: Error) => void = () => undefined;

  readonly ping = (): Promise<void> =>
    new Promise((resolve, reject) => {
      this.answer = resolve;
      this.refuse = reject;
    });
}

describe('a watched host', () => {
  let pings: Pings;
  let watch: HostWatch;
  /** The reported losses, as their reasons; null: the host answers. */
  let reported: (string | null)[];
  const never = (): Promise<string> => new Promise(() => undefined);

  beforeEach(() => {
    jest.useFakeTimers();
    pings = new Pings();
    reported = [];
    watch = new HostWatch({ name: 'a', ping: pings.ping, onChange: (loss) => reported.push(loss?.reason ?? null) });
  });
  afterEach(() => {
    watch.close();
    jest.useRealTimers();
  });

  /** Runs the first check. */
  const connect = async (): Promise<void> => {
    const checked = watch.check();
    pings.answer();
    await checked;
  };

  it('lets a read wait for the first answer of the host, even for 4 s', async () => {
    const checked = watch.check();
    const reading = watch.whileReachable(() => checked.then(() => 'read'));
    await jest.advanceTimersByTimeAsync(4_000);
    expect(watch.silence).toBeNull();
    pings.answer();
    expect(await reading).toBe('read');
    expect(reported).toEqual([null]);
  });

  it('fails running and new reads when a check takes a second, and is reported as lost when the check fails', async () => {
    await connect();
    const reading = expect(watch.whileReachable(never)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'host a does not answer: no answer within 1000 ms',
    });
    // A read that has taken 500 ms causes a check.
    await jest.advanceTimersByTimeAsync(500);
    expect(watch.silence).toBeNull();
    await jest.advanceTimersByTimeAsync(1_000);
    await reading;
    expect(watch.silence).toMatchObject({ reason: null });
    expect(watch.loss).toBeNull();
    await expect(watch.whileReachable(never)).rejects.toMatchObject({ kind: 'unavailable' });
    const checked = watch.check();
    pings.refuse(new Error('no answer'));
    await checked;
    expect(watch.silence).toMatchObject({ reason: 'no answer' });
    expect(reported).toEqual([null, 'no answer']);
  });

  it('is not reported as lost if it answers a check late', async () => {
    await connect();
    const checked = watch.check();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(watch.silence).not.toBeNull();
    pings.answer();
    await checked;
    expect(watch.silence).toBeNull();
    expect(await watch.whileReachable(() => Promise.resolve('read'))).toBe('read');
    expect(reported).toEqual([null]);
  });
});
