/** Makes hidden characters of names visible, and cuts texts that are far too long. Names come from other people. */
import { Fragment, options, type VNode } from 'preact';
import { uiTexts as texts } from '../../texts/index.js';

/**
 * Characters without a picture of their own: controls except tab and line feed, marks and overrides of the direction,
 * spaces without width, tags. They can turn a name around, or make two names look the same. The joiners are part of
 * some scripts and of emoji, so they count only after a character of ASCII.
 */
const HIDDEN =
  // eslint-disable-next-line no-control-regex -- these are the characters to find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|(?<=^|[\u0000-\u007f])[\u200c\u200d]/gu;

/** Maximum number of characters of a text outside of `<pre>`. All texts of the console are much shorter. */
const MAX_LENGTH = 1000;
/** Characters that remain at each end of a longer text. */
const REST_LENGTH = 300;

const codeOf = (character: string): string =>
  `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;

/** Returns a text with its hidden characters as codes such as `[U+202E]`. */
export const visibleText = (text: string): string => text.replace(HIDDEN, codeOf);

/** Returns a text without its middle if it is far too long. */
export function shortText(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const cut = text.length - 2 * REST_LENGTH;
  return `${text.slice(0, REST_LENGTH)} ${texts.cut(cut)} ${text.slice(-REST_LENGTH)}`;
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
  // A fragment may be a part of `<pre>`, such as JSON.
  const isCut = type !== 'pre' && type !== Fragment;
  const shown = (text: string): string => visibleText(isCut ? shortText(text) : text);
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
