import { describe, expect, it } from '@jest/globals';
import { changeOfState } from './machine-change.js';

describe('change of a state', () => {
  it('depends on the old and the new state; some pairs of states are no change', () => {
    expect(changeOfState('running', 'shutoff')).toBe('stopped');
    expect(changeOfState('shutoff', 'running')).toBe('started');
    expect(changeOfState('crashed', 'running')).toBe('started');
    expect(changeOfState('running', 'paused')).toBe('paused');
    expect(changeOfState('paused', 'running')).toBe('resumed');
    expect(changeOfState('pmsuspended', 'running')).toBe('resumed');
    expect(changeOfState('running', 'pmsuspended')).toBe('suspended');
    expect(changeOfState('running', 'crashed')).toBe('crashed');
    expect(changeOfState('running', 'shutdown')).toBe('shuttingDown');
    expect(changeOfState('running', 'blocked')).toBeUndefined();
    expect(changeOfState('shutdown', 'running')).toBeUndefined();
    expect(changeOfState('paused', 'paused')).toBeUndefined();
  });
});
