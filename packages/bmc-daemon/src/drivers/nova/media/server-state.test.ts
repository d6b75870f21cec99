import { expect, it } from '@jest/globals';
import {
  fitsItem,
  formatChange,
  formatItem,
  isOfNewerVersion,
  MAX_ACTION,
  MAX_ASSET_TAG,
  MAX_DAEMON,
  parseChange,
  parseState,
  untouchedState,
  type ServerState,
} from './server-state.js';

/** Nova's limit for the value of a metadata item. */
const MAX_ITEM = 255;

const longestState = (assetTag: string): ServerState => ({
  cd: '00000000-0000-4000-8000-000000000001',
  boot: { enabled: 'continuous', target: 'network' },
  verifyCertificate: false,
  assetTag,
  bootedAfter: 'r'.repeat(MAX_ACTION),
});
const longestStopping = (assetTag: string): ServerState => {
  const { bootedAfter: _mark, ...state } = longestState(assetTag);
  return { ...state, stopping: { after: 'r'.repeat(MAX_ACTION), by: 'd'.repeat(MAX_DAEMON) } };
};

it.each([
  ['ASCII', 'x'.repeat(MAX_ASSET_TAG)],
  ['text that JSON escapes', '"\\'.repeat(MAX_ASSET_TAG / 4)],
  ['characters beyond U+FFFF', '😀'.repeat(5)],
  ['Chinese', '架'.repeat(MAX_ASSET_TAG)],
])('the metadata item of a server can hold the longest asset tag with all other members: %s', (_, tag) => {
  const text = formatItem(longestState(tag));
  expect([fitsItem(tag), text.length <= MAX_ITEM, /[\u{10000}-\u{10ffff}]/u.test(text)]).toEqual([true, true, false]);
  expect(parseState(text)).toEqual(longestState(tag));
  const other = formatItem(longestStopping(tag));
  expect([other.length <= MAX_ITEM, parseState(other)]).toEqual([true, longestStopping(tag)]);
  expect(fitsItem(`${tag}😀`)).toBe(false);
});

it.each([[''], ['\u0007'], ['x'.repeat(65)], [5]])(
  'parseState ignores a state with the invalid asset tag %p',
  (tag) => {
    expect(parseState(JSON.stringify({ tag }))).toBeUndefined();
  },
);

it('parseState reads a state without an asset tag, as earlier versions wrote it', () => {
  expect(parseState('{"enabled":"continuous","target":"hd"}')).toEqual(untouchedState);
});

it.each([
  ['{"v":2,"enabled":"disabled"}', true],
  ['{"v":2', false],
  ['{"enabled":"disabled"}', false],
  ['{"v":"2"}', false],
])('isOfNewerVersion returns whether a newer version has written %s: %p', (text, isNewer) => {
  expect(isOfNewerVersion(text)).toBe(isNewer);
  if (isNewer) expect(parseState(text)).toBeUndefined();
});

it('parseChange ignores a change that replaced an earlier text of the item', () => {
  const changed: ServerState = { ...untouchedState, assetTag: 'web' };
  const text = formatChange(changed, 'earlier');
  expect(parseChange(text, 'earlier')).toEqual(changed);
  expect([parseChange(text, 'later'), parseChange(text, undefined)]).toEqual([undefined, undefined]);
  expect(parseChange(formatChange(changed, undefined), undefined)).toEqual(changed);
});

it('parseChange ignores a change that replaced an earlier item, even if both items have the same state', () => {
  const [earlier, later] = [formatItem(untouchedState), formatItem(untouchedState)];
  expect([parseState(earlier), parseState(later)]).toEqual([untouchedState, untouchedState]);
  const text = formatChange({ ...untouchedState, assetTag: 'web' }, earlier);
  expect([parseChange(text, earlier)?.assetTag, parseChange(text, later)]).toEqual(['web', undefined]);
});

it('parseChange reads a change of an older version, which did not name the item', () => {
  expect(parseChange('{"enabled":"continuous","target":"hd"}', 'any')).toEqual(untouchedState);
});
