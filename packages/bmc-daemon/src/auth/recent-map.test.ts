import { describe, expect, it } from '@jest/globals';
import { RecentMap } from './recent-map.js';

describe('a map of recent entries', () => {
  it('drops the least recently used entry when a new entry exceeds the limit', () => {
    const map = new RecentMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    expect(map.get('a')).toBe(1);
    map.set('c', 3);
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
  });

  it('replaces the value of a key without dropping another entry, and deletes entries', () => {
    const map = new RecentMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 3);
    map.delete('b');
    expect([map.get('a'), map.get('b'), map.size]).toEqual([3, undefined, 1]);
  });
});
