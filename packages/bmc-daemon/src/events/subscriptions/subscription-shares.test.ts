import { describe, expect, it } from '@jest/globals';
import { hasPlace, type PlaceRequest, type Place } from './subscription-shares.js';

const stream = (owner: string | null, address: string): Place => ({ kind: 'stream', owner, address });
const push = (owner: string | null): Place => ({ kind: 'push', owner, address: null });
const times = (count: number, of: (index: number) => Place): readonly Place[] =>
  Array.from({ length: count }, (_, index) => of(index));
const reader: PlaceRequest = { kind: 'stream', owner: 'reader', address: '192.0.2.1', hasConfigureManager: false };
const operator: PlaceRequest = { kind: 'push', owner: 'operator', address: null, hasConfigureManager: false };
const admin: PlaceRequest = { kind: 'stream', owner: 'admin', address: '192.0.2.9', hasConfigureManager: true };

describe('the places for subscriptions', () => {
  it('are a quarter, as streams, for an account that is no administrator', () => {
    const others = (count: number) => times(count, (index) => stream('reader', `192.0.2.${index}`));
    expect(hasPlace(reader, others(49), 200)).toBe(true);
    expect(hasPlace(reader, others(50), 200)).toBe(false);
    expect(hasPlace({ ...reader, owner: 'other' }, others(50), 200)).toBe(true);
    expect(hasPlace(admin, [...others(50), ...times(60, () => stream('admin', '192.0.2.200'))], 200)).toBe(true);
  });

  it('are one half, as streams, for an address, whatever its accounts', () => {
    const here = (count: number) => times(count, (index) => stream(`user-${index % 4}`, reader.address ?? ''));
    expect(hasPlace(reader, here(99), 200)).toBe(true);
    expect(hasPlace(reader, here(100), 200)).toBe(false);
    expect(hasPlace({ ...admin, address: reader.address }, here(100), 200)).toBe(false);
    expect(hasPlace({ ...reader, address: '192.0.2.2' }, here(100), 200)).toBe(true);
  });

  it('have no share of a listener, as tools create one for each machine', () => {
    expect(
      hasPlace(
        operator,
        times(179, () => push('operator')),
        200,
      ),
    ).toBe(true);
  });

  it('are left to administrators in the last tenth, and end at the limit', () => {
    const taken = times(180, () => push('operator'));
    expect([operator, reader, admin].map((asker) => hasPlace(asker, taken, 200))).toEqual([false, false, true]);
    expect(
      hasPlace(
        admin,
        times(200, () => push('operator')),
        200,
      ),
    ).toBe(false);
  });
});
