/**
 * Kills the daemon (SIGKILL) before libvirt calls that change something, in operations with several steps. The machine
 * is then as before the operation, or the restarted daemon completes the operation. Each case is an
 * operation and a call. By default some cases run; RACKLESS_KILL=all runs all. A second suite kills nothing: libvirt
 * rejects one of the calls.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../libvirt-driver/host.js';
import type { Fingerprint } from './fingerprint.js';
import { KillLab } from './kill-lab.js';
import { atomicOperations, operations, type Operation } from './operations.js';

const all = process.env['RACKLESS_KILL'] === 'all';
/** More calls than any operation makes. */
const MAX_CALLS = 60;
// These limits end a test that hangs. Load does not reach them.
const SETTLE_MS = 600_000;
jest.setTimeout(3_600_000);

const chosen = (some: readonly Operation[]): readonly Operation[] => some.filter(({ always }) => all || always);

let lab: KillLab;
beforeAll(async () => {
  lab = await KillLab.start();
});
afterAll(() => lab.stop());

/**
 * Returns the index of the second define, if there is one. The second define removes the intent of a
 * completed change.
 */
function secondDefine(calls: readonly string[]): readonly number[] {
  return calls.flatMap((call, index) => (call === 'domainDefineXmlFlags' ? [index] : [])).slice(1, 2);
}

/** Prints the progress of a complete run, which takes long. */
function report({ title }: Operation, what: string): void {
  if (all) process.stderr.write(`${title}: ${what}\n`);
}

/**
 * Runs the preparation of an operation.
 * @returns the state before the operation.
 */
async function prepare({ before }: Operation): Promise<Fingerprint> {
  await lab.reset();
  await before?.(lab);
  return await lab.fingerprint();
}

/**
 * Waits until the host has one of the given states, for at most ten minutes.
 * @returns the last state.
 */
async function untilSettled(expected: readonly Fingerprint[]): Promise<Fingerprint> {
  let seen = await lab.fingerprint();
  const isExpected = (): boolean => expected.some((one) => JSON.stringify(one) === JSON.stringify(seen));
  const readUntilExpected = async (): Promise<boolean> => {
    if (!isExpected()) seen = await lab.fingerprint();
    return isExpected();
  };
  // The caller's comparison shows the difference.
  await until('the host to settle', readUntilExpected, SETTLE_MS).catch(() => undefined);
  return seen;
}

describe.each(chosen(operations).map((operation) => [operation.title, operation] as const))(
  '%s',
  (_title, operation) => {
    it('leaves the machine in the state before or after the operation, if the daemon is killed during it', async () => {
      const before = await prepare(operation);
      const { calls } = await lab.run(() => operation.run(lab), Infinity);
      const after = await lab.fingerprint();
      expect(after.unfinished).toEqual([]);
      expect(calls.length).toBeGreaterThan(0);
      expect(calls.length).toBeLessThan(MAX_CALLS);
      // By default, the second call (the first has changed something already), and the call that removes the intent.
      const kills = all ? calls.keys() : new Set([Math.min(1, calls.length - 1), ...secondDefine(calls)]);
      for (const kill of kills) {
        report(operation, `kill ${kill} of ${calls.length}, before ${calls[kill]}`);
        expect({ kill, call: calls[kill], state: await prepare(operation) }).toEqual({
          kill,
          call: calls[kill],
          state: before,
        });
        const run = await lab.run(() => operation.run(lab), kill);
        expect(run.killed).toBe(true);
        await lab.startDaemon();
        const seen = await untilSettled([before, after]);
        const nearest = JSON.stringify(seen) === JSON.stringify(before) ? before : after;
        expect({ kill, call: run.calls.at(-1), state: seen }).toEqual({ kill, call: run.calls.at(-1), state: nearest });
      }
    });
  },
);

describe.each(chosen(atomicOperations).map((operation) => [operation.title, operation] as const))(
  '%s',
  (_title, operation) => {
    it('leaves the machine in the state before the operation, or succeeds, if libvirt rejects one of its calls', async () => {
      const before = await prepare(operation);
      const { calls } = await lab.run(() => operation.run(lab), Infinity);
      const after = await lab.fingerprint();
      // A device that cannot be hot-plugged is added by the next start, so the operation succeeds.
      const refusable = calls.flatMap((call, index) => (call === 'domainAttachDeviceFlags' ? [] : [index]));
      // By default, the last call but one (the last is often only a cleanup), and the call that removes the intent.
      const refusals = all ? refusable : new Set([...refusable.slice(-2, -1), ...secondDefine(calls)]);
      for (const refuse of refusals) {
        report(operation, `refuse ${refuse} of ${calls.length}, ${calls[refuse]}`);
        await prepare(operation);
        const { call, done } = await lab.runRefused(() => operation.run(lab), refuse);
        // libvirt may reject the cleanup after a completed operation. The restarted daemon repeats
        // the cleanup.
        if (done) await lab.restartDaemon();
        const expected = done ? after : before;
        expect({ refuse, call, state: await untilSettled([expected]) }).toEqual({ refuse, call, state: expected });
      }
    });
  },
);
