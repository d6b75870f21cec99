/** The places of the lines of a virtual table, in pixels from the first line. */
import type { Line } from './groups.js';

/** Converts between lines and places in pixels. */
export interface LinePlaces {
  /** Returns the top of a line. For the number of lines, this is the height of all lines. */
  readonly topOf: (line: number) => number;
  /** Returns the line at a place. */
  readonly lineAt: (pixels: number) => number;
}

/**
 * Returns the places of lines.
 * @param rowHeight the height of all lines without `heightOf`, and of headings of groups.
 * @param heightOf returns the height of a row. Without it, all lines have the height `rowHeight`.
 */
export function linePlaces<Row>(
  lines: readonly Line<Row>[],
  rowHeight: number,
  heightOf?: (row: Row) => number,
): LinePlaces {
  if (heightOf === undefined) return equalLines(rowHeight);
  return unequalLines(lines.map((line) => (line.kind === 'row' ? heightOf(line.row) : rowHeight)));
}

function equalLines(height: number): LinePlaces {
  return { topOf: (line) => line * height, lineAt: (pixels) => Math.floor(pixels / height) };
}

function unequalLines(heights: readonly number[]): LinePlaces {
  let sum = 0;
  const tops = [0, ...heights.map((height) => (sum += height))];
  return {
    topOf: (line) => tops[Math.min(line, heights.length)] ?? 0,
    lineAt(pixels) {
      let [low, high] = [0, Math.max(0, heights.length - 1)];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if ((tops[middle] ?? 0) <= pixels) low = middle;
        else high = middle - 1;
      }
      return low;
    },
  };
}
