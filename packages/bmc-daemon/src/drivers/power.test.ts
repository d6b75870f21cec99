import { describe, expect, it } from '@jest/globals';
import { DriverError, type DomainState, type PowerAction } from './driver.js';
import { planPower } from './power.js';

const actions: readonly PowerAction[] = ['create', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'];

function outcome(action: PowerAction, state: DomainState): string {
  try {
    return planPower(action, state).join('+') || '-';
  } catch (error) {
    if (error instanceof DriverError && error.kind === 'conflict') return '409';
    throw error;
  }
}

describe('power actions by state', () => {
  // Columns: create, destroy, shutdown, reboot, reset, injectNmi.
  it.each<[DomainState, ...string[]]>([
    ['nostate', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['running', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['blocked', '-', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi'],
    ['paused', 'resume', 'destroy', '409', '409', 'destroy+create', 'injectNmi'],
    ['shutdown', 'destroy+create', 'destroy', '-', 'destroy+create', 'destroy+create', '409'],
    ['shutoff', 'create', '-', '409', '409', 'create', '409'],
    ['crashed', '-', 'destroy', '409', '409', 'destroy+create', '409'],
    ['pmsuspended', '-', 'destroy', '409', '409', 'destroy+create', 'injectNmi'],
  ])('a machine that is %s follows its row of the table (B5)', (state, ...expected) => {
    expect(actions.map((action) => outcome(action, state))).toEqual(expected);
  });

  it('says which action the state does not allow (B5)', () => {
    expect(() => planPower('shutdown', 'shutoff')).toThrow('graceful shutdown on a machine that is off');
  });
});
