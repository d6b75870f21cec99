import { describe, expect, it } from '@jest/globals';
import { DriverError } from './driver-error.js';
import type { DomainState } from './snapshot/system-snapshot.js';
import { type PowerAction, planPower } from './power.js';

const actions: readonly PowerAction[] = ['create', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'];
const others: readonly PowerAction[] = ['cycle', 'pressButton', 'suspend', 'resume', 'pmSuspend'];

/** Returns the steps of an action: `-` if there are none, `409` if the state does not allow the action. */
function outcome(action: PowerAction, state: DomainState): string {
  try {
    return planPower(action, { state }).join('+') || '-';
  } catch (error) {
    if (error instanceof DriverError && error.kind === 'conflict') return '409';
    throw error;
  }
}

describe('power actions', () => {
  // Columns: create, destroy, shutdown, reboot, reset, injectNmi.
  it.each<[DomainState, ...string[]]>([
    ['nostate', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['running', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['blocked', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['paused', 'resume', 'destroy', '409', '409', 'destroy+create', 'injectNmi'],
    ['shutdown', 'destroy+create', 'destroy', '-', 'destroy+create', 'destroy+create', '409'],
    ['shutoff', 'create', '-', '409', '409', 'managedSaveRemove+create', '409'],
    ['crashed', '-', 'destroy', '409', '409', 'destroy+create', '409'],
    ['pmsuspended', 'pmWakeup', 'destroy', '409', '409', 'destroy+create', 'injectNmi'],
  ])('have the expected libvirt calls in state %s: start, stop, restart and NMI', (state, ...expected) => {
    expect(actions.map((action) => outcome(action, state))).toEqual(expected);
  });

  // Columns: cycle, pressButton, suspend, resume, pmSuspend.
  it.each<[DomainState, ...string[]]>([
    ['nostate', 'destroy+create', 'shutdown', 'suspend', '-', 'pmSuspend'],
    ['running', 'destroy+create', 'shutdown', 'suspend', '-', 'pmSuspend'],
    ['blocked', 'destroy+create', 'shutdown', 'suspend', '-', 'pmSuspend'],
    ['paused', 'destroy+create', '409', '-', 'resume', '409'],
    ['shutdown', 'destroy+create', '-', '409', '409', '409'],
    ['shutoff', 'managedSaveRemove+create', 'create', '409', '409', '409'],
    ['crashed', 'destroy+create', '409', '409', '409', '409'],
    ['pmsuspended', 'destroy+create', 'pmWakeup', '409', 'pmWakeup', '409'],
  ])('have the expected libvirt calls in state %s: cycle, button, pause, resume and suspend', (state, ...expected) => {
    expect(others.map((action) => outcome(action, state))).toEqual(expected);
  });

  it('are rejected if they would end a transient machine', () => {
    const state = 'running';
    for (const action of ['destroy', 'shutdown', 'cycle', 'pressButton', 'pmSuspend'] as const) {
      expect(() => planPower(action, { state, persistent: false })).toThrow('of a transient machine');
    }
    for (const action of ['create', 'reboot', 'reset', 'injectNmi', 'suspend', 'resume'] as const) {
      expect(() => planPower(action, { state, persistent: false })).not.toThrow();
    }
    expect(() => planPower('reset', { state: 'paused', persistent: false })).toThrow(
      'restart of a transient machine, which would be lost',
    );
  });

  it('are rejected with their name and the state of the machine if the state does not allow them', () => {
    expect(() => planPower('shutdown', { state: 'shutoff' })).toThrow('graceful shutdown on a machine that is off');
  });
});
