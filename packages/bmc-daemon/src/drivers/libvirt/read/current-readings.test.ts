import { describe, expect, it } from '@jest/globals';
import type { SystemSnapshot } from '../../snapshot/system-snapshot.js';
import { CurrentReadings } from './current-readings.js';

const newReading = (text: string) => {
  const snapshot: SystemSnapshot = { uuid: 'a', name: 'web-1', state: 'shutoff' };
  return { snapshot, inactiveXml: text, liveXml: null };
};

describe('the current reading of a machine', () => {
  it('belongs to one snapshot, and is current until the machine or the connection changes', () => {
    const readings = new CurrentReadings();
    const first = newReading('first');
    const last = newReading('last');
    readings.begin('a')(first);
    expect(readings.xmlOf('a', first.snapshot)?.inactiveXml).toBe('first');
    expect(readings.snapshotOf('a')).toBe(first.snapshot);
    readings.begin('a')(last);
    expect(readings.xmlOf('a', first.snapshot)).toBeUndefined();
    expect(readings.xmlOf('a', undefined)).toBeUndefined();
    expect(readings.xmlOf('b', last.snapshot)).toBeUndefined();
    readings.forget('b');
    expect(readings.xmlOf('a', last.snapshot)?.inactiveXml).toBe('last');
    readings.forget('a');
    expect(readings.xmlOf('a', last.snapshot)).toBeUndefined();
    readings.begin('a')(last);
    readings.forgetAll();
    expect(readings.xmlOf('a', last.snapshot)).toBeUndefined();
  });

  it('is not stored if the machine or the connection changed during the read', () => {
    const readings = new CurrentReadings();
    const old = newReading('old');
    const store = readings.begin('a');
    readings.forget('a');
    store(old);
    const storeLate = readings.begin('a');
    readings.forgetAll();
    storeLate(old);
    expect(readings.xmlOf('a', old.snapshot)).toBeUndefined();
  });

  it('is removed with its machine', () => {
    const readings = new CurrentReadings();
    const gone = newReading('gone');
    readings.begin('a')(gone);
    readings.retain(new Set(['b']));
    expect(readings.xmlOf('a', gone.snapshot)).toBeUndefined();
  });
});
