import { describe, expect, it } from '@jest/globals';
import { changeOfState } from './machine-change.js';

describe('changeOfState', () => {
  it('returns the change between two states; undefined for equal states, for blocked and for a cancelled shutdown', () => {
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
