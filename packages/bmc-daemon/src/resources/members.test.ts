import { describe, expect, it } from '@jest/globals';
import { inOrder } from './members.js';

describe('members of a collection', () => {
  const machines = ['b', 'c', 'a'].map((uuid) => ({ uuid, name: uuid }));

  it('are sorted by UUID, ascending or descending', () => {
    expect(inOrder(machines, 'ascending').map(({ uuid }) => uuid)).toEqual(['a', 'b', 'c']);
    expect(inOrder(machines, 'descending').map(({ uuid }) => uuid)).toEqual(['c', 'b', 'a']);
    expect(machines.map(({ uuid }) => uuid)).toEqual(['b', 'c', 'a']);
  });

  it('are the same object for the same list, so that cached renderings stay valid', () => {
    expect(inOrder(machines, 'ascending')).toBe(inOrder(machines, 'ascending'));
    expect(inOrder(machines, 'descending')).toBe(inOrder(machines, 'descending'));
    expect(inOrder([...machines], 'ascending')).not.toBe(inOrder(machines, 'ascending'));
  });
});
