import { describe, expect, it } from '@jest/globals';
import { systemStatus } from './status.js';

const unansweredSince = new Date('2026-01-02T03:04:05.000Z');
const condition = {
  MessageId: 'ResourceEvent.1.4.ResourceStatusChangedWarning',
  MessageArgs: ['web-1', 'Warning'],
  Message:
    "The health of 'web-1' is now Warning. The hypervisor does not answer for this machine. These are the last known values.",
  Severity: 'Warning',
  Resolution: 'If the machine hangs, ForceOff and ForceRestart end its process.',
  Timestamp: '2026-01-02T03:04:05.000Z',
};

describe('the status of a machine', () => {
  it('has a condition, and is at least Warning, while the hypervisor does not answer', () => {
    expect(systemStatus({ name: 'web-1', state: 'running' })).toEqual({
      State: 'Enabled',
      Health: 'OK',
      HealthRollup: 'OK',
    });
    expect(systemStatus({ name: 'web-1', state: 'running', unansweredSince })).toEqual({
      State: 'Enabled',
      Health: 'Warning',
      HealthRollup: 'Warning',
      Conditions: [condition],
    });
    expect(systemStatus({ name: 'web-1', state: 'paused', failure: 'ioError', unansweredSince })).toEqual({
      State: 'Enabled',
      Health: 'Critical',
      HealthRollup: 'Critical',
      Conditions: [condition],
    });
  });
});
