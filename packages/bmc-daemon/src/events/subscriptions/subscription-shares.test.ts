import { describe, expect, it } from '@jest/globals';
import { hasPlace, type PlaceRequest, type Place } from './subscription-shares.js';

const stream = (owner: string | null, address: string): Place => ({ kind: 'stream', owner, address });
const push = (owner: string | null): Place => ({ kind: 'push', owner, address: null });
const repeated = (count: number, of: (index: number) => Place): readonly Place[] =>
  Array.from({ length: count }, (_, index) => of(index));
const reader: PlaceRequest = { kind: 'stream', owner: 'reader', address: '192.0.2.1', hasConfigureManager: false };
const operator: PlaceRequest = { kind: 'push', owner: 'operator', address: null, hasConfigureManager: false };
const admin: PlaceRequest = { kind: 'stream', owner: 'admin', address: '192.0.2.9', hasConfigureManager: true };

describe('the limits of subscriptions', () => {
  it('restrict the streams of an account that is not an administrator to a quarter of all places', () => {
    const streamsOfOneAccount = (count: number) => repeated(count, (index) => stream('reader', `192.0.2.${index}`));
    expect(hasPlace(reader, streamsOfOneAccount(49), 200)).toBe(true);
    expect(hasPlace(reader, streamsOfOneAccount(50), 200)).toBe(false);
    expect(hasPlace({ ...reader, owner: 'other' }, streamsOfOneAccount(50), 200)).toBe(true);
    expect(
      hasPlace(admin, [...streamsOfOneAccount(50), ...repeated(60, () => stream('admin', '192.0.2.200'))], 200),
    ).toBe(true);
  });

  it('restrict the streams of one address to half of all places, whatever accounts they use', () => {
    const streamsOfOneAddress = (count: number) =>
      repeated(count, (index) => stream(`user-${index % 4}`, reader.address ?? ''));
    expect(hasPlace(reader, streamsOfOneAddress(99), 200)).toBe(true);
    expect(hasPlace(reader, streamsOfOneAddress(100), 200)).toBe(false);
    expect(hasPlace({ ...admin, address: reader.address }, streamsOfOneAddress(100), 200)).toBe(false);
    expect(hasPlace({ ...reader, address: '192.0.2.2' }, streamsOfOneAddress(100), 200)).toBe(true);
  });

  it('do not restrict the push subscriptions of one account, because tools create one for each machine', () => {
    expect(
      hasPlace(
        operator,
        repeated(179, () => push('operator')),
        200,
      ),
    ).toBe(true);
  });

  it('reserve the last tenth of all places for administrators, and reject more than the maximum', () => {
    const taken = repeated(180, () => push('operator'));
    expect([operator, reader, admin].map((asker) => hasPlace(asker, taken, 200))).toEqual([false, false, true]);
    expect(
      hasPlace(
        admin,
        repeated(200, () => push('operator')),
        200,
      ),
    ).toBe(false);
  });
});
