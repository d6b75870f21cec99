import { describe, expect, it } from '@jest/globals';
import type { Line } from './groups.js';
import { linePlaces } from './line-places.js';

const group: Line<number> = { kind: 'group', key: 'a', rows: [] };
const rows = (...heights: readonly number[]): readonly Line<number>[] =>
  heights.map((row, index) => ({ kind: 'row', key: String(index), row }));
const heightOf = (row: number): number => row;

describe('the places of lines', () => {
  it('are multiples of the height if all lines have the same', () => {
    const places = linePlaces(rows(1, 2, 3), 30);
    expect([places.topOf(0), places.topOf(4)]).toEqual([0, 120]);
    expect([0, 29, 30, 119, 120].map(places.lineAt)).toEqual([0, 0, 1, 3, 4]);
  });

  it('are sums of the heights if the lines have several', () => {
    const places = linePlaces([...rows(100), group, ...rows(30, 50)], 30, heightOf);
    expect([0, 1, 2, 3, 4].map(places.topOf)).toEqual([0, 100, 130, 160, 210]);
    expect([0, 99, 100, 129, 130, 160, 209, 5000].map(places.lineAt)).toEqual([0, 0, 1, 1, 2, 3, 3, 3]);
  });

  it('are 0 in a table without lines, also for an index or a scroll position beyond its end', () => {
    const places = linePlaces(rows(), 30, heightOf);
    expect([places.topOf(0), places.topOf(7), places.lineAt(0), places.lineAt(900)]).toEqual([0, 0, 0, 0]);
  });
});
