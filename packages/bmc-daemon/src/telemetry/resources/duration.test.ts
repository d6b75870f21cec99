import { describe, expect, it } from '@jest/globals';
import { durationSeconds, durationText } from './duration.js';

describe('durations', () => {
  it.each([
    ['PT1M', 60],
    ['PT1S', 1],
    ['P1D', 86_400],
    ['P1DT2H3M4.5S', 93_784.5],
    ['PT0.1S', 0.1],
    ['PT0S', 0],
  ])('are converted to seconds and back: %s', (text, seconds) => {
    expect([durationSeconds(text), durationText(seconds)]).toEqual([seconds, text]);
  });

  it.each(['', 'P', 'PT', '60', 'PT-1S', 'P1Y', 'P1M', 'P1W', 'PT1S1M', 'pt1m', 'PT1M '])(
    'are invalid in the form %j',
    (text) => {
      expect(durationSeconds(text)).toBeUndefined();
    },
  );

  it('have the shortest form of a number of seconds', () => {
    expect([90, 3_600, 129_600, 60.1].map(durationText)).toEqual(['PT1M30S', 'PT1H', 'P1DT12H', 'PT1M0.1S']);
  });
});
