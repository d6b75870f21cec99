/** The conditions of a console, and how errors of a driver become conditions. */
import { DriverError } from '../drivers/driver-error.js';

/**
 * `closed`: the machine is off, or its console cannot be reached; the console opens again later.
 * `taken`: another program uses the console, and the daemon continues to try. `absent`: there is no
 * machine, or it has no serial port.
 */
export type ConsoleState = 'open' | 'closed' | 'taken' | 'absent';

/** A state, and the reason as text for people. */
export interface Condition {
  readonly state: ConsoleState;
  readonly why: string;
}

/** The console is connected. */
export const open: Condition = { state: 'open', why: 'connected' };
/** The machine is off. */
export const off: Condition = { state: 'closed', why: 'the machine is off' };
/** The machine does not exist. */
export const gone: Condition = { state: 'absent', why: 'there is no such machine' };
/** The console opens, and closes again before it has any output. */
export const unusable: Condition = { state: 'closed', why: 'its console closes as soon as it is open' };
/** Connecting failed for an unexpected reason. */
export const failed: Condition = { state: 'closed', why: 'its console cannot be opened' };
/** The proxy of the console cannot be reached. */
export const unreachable: Condition = { state: 'closed', why: 'the connection to the proxy of its console failed' };

/**
 * Returns the condition of a console whose lost stream was replaced.
 * @param silentMs time since the last output.
 */
export function openAgain(silentMs: number): Condition {
  const since = new Date(Date.now() - silentMs).toISOString();
  return { state: 'open', why: `connected again, output since ${since} may be missing` };
}

/**
 * Translates the error of an attempt. The second value tells whether to retry, even without an
 * event of the machine.
 */
export function conditionOf(error: unknown): readonly [Condition, boolean] {
  switch (error instanceof DriverError ? error.kind : undefined) {
    case 'conflict':
      return [off, false];
    case 'notFound':
      return [gone, false];
    case 'unsupported':
      return [{ state: 'absent', why: 'it has no serial port for clients' }, false];
    case 'consoleInUse':
      return [{ state: 'taken', why: 'another program uses the console' }, true];
    case 'consoleNotReady':
      return [{ state: 'closed', why: 'the machine is starting or stopping' }, true];
    case 'consoleUnreachable':
      return [unreachable, true];
    case 'unavailable':
      return [{ state: 'closed', why: 'its hypervisor does not answer' }, true];
    default:
      return [failed, true];
  }
}
