import { describe, expect, it } from '@jest/globals';
import { changeOfState } from './machine-change.js';

describe('changeOfState', () => {
  it('returns the change from an old to a new state; undefined for some pairs of states', () => {
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
