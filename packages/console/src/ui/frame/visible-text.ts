/** Makes hidden characters of names visible, and cuts texts that are far too long. Names come from other people. */
import { Fragment, options, type VNode } from 'preact';
import { uiTexts as texts } from '../../texts/index.js';

/** Letters whose shape depends on joiners or selectors beside them, and Arabic's marks above and below letters. */
const JOINED = [
  ...['Arabic', 'Syriac', 'Nko', 'Mongolian', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil'],
  ...['Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar'],
].reduce((all, script) => `${all}\\p{Script=${script}}`, '\\u064b-\\u0655\\u0670');
const LETTER = `(?!\\p{Default_Ignorable_Code_Point})[${JOINED}]`;
const EMOJI = '\\p{Extended_Pictographic}\\p{Emoji_Modifier}?[\\ufe0e\\ufe0f]?';

/**
 * Characters without a picture of their own, as a group: controls except tab and line feed, marks and overrides of the
 * direction, joiners, selectors, tags, and all spaces except the usual one. They can turn a name around, or make two
 * names look the same. Matches without the group keep their joiners and selectors: emoji, and letters of some scripts.
 * There is no lookbehind, because Safari has it only since 16.4.
 */
const HIDDEN = new RegExp(
  [
    `${EMOJI}(?:\\u200d${EMOJI})*`,
    '[#*0-9]\\ufe0f\\u20e3', // the emoji of a key
    `${LETTER}[\\u180b-\\u180f\\u200c\\u200d](?=${LETTER})`,
    '\\r(?=\\n)',
    '((?![\\t\\n ])[\\p{Cc}\\p{Zs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufff9-\\ufffb])',
  ].join('|'),
  'gu',
);

/** Maximum number of characters of a text outside of `<pre>`. All texts of the console are much shorter. */
const MAX_LENGTH = 1000;
/** Characters that remain at each end of a longer text. */
const REST_LENGTH = 300;

const codeOf = (character: string): string =>
  `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;

/** Returns a text with its hidden characters as codes such as `[U+202E]`, and without CR before LF. */
export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (match: string, hidden?: string) =>
    hidden === undefined ? (match === '\r' ? '' : match) : codeOf(hidden),
  );

/** Returns a text; if it is far too long, with the number of left out characters in place of its middle. */
export function shortText(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  // An end never has half of a surrogate pair.
  const begin = text.slice(0, REST_LENGTH).replace(/[\ud800-\udbff]$/, '');
  const end = text.slice(-REST_LENGTH).replace(/^[\udc00-\udfff]/, '');
  return `${begin} ${texts.cut(text.length - begin.length - end.length)} ${end}`;
}

/** The attributes with texts. */
const TEXTS = ['aria-label', 'title', 'alt'];

type Props = Record<string, unknown>;

/**
 * Changes all texts of both consoles before they appear. These stay as they are: the values of fields, and the text of
 * an element with `dir`, which is prose of a person or a model. The browser isolates its direction.
 */
export function startVisibleTexts(): void {
  const next = options.vnode?.bind(options);
  options.vnode = (vnode) => {
    if (typeof vnode.type === 'string' || vnode.type === Fragment) change(vnode);
    next?.(vnode);
  };
}

function change({ type, props }: VNode): void {
  // A fragment may be a part of `<pre>`, such as JSON, whose texts are not cut.
  const isCut = type !== 'pre' && type !== Fragment;
  const shown = (text: string): string => (isCut ? shortText(visibleText(text)) : visibleText(text));
  const all = props as Props; // the properties of an element or a fragment
  if (all['dir'] !== undefined) return;
  for (const name of TEXTS) {
    const { [name]: text } = all;
    if (typeof text === 'string') all[name] = shown(text);
  }
  const { children } = all;
  if (typeof children === 'string') all['children'] = shown(children);
  else if (Array.isArray(children)) all['children'] = children.map((each) => shownChild(each, shown));
}

/** Returns a child with its texts as they appear. */
function shownChild(child: unknown, shown: (text: string) => string): unknown {
  if (typeof child === 'string') return shown(child);
  return Array.isArray(child) ? child.map((each) => shownChild(each, shown)) : child;
}
