/** Builds XML from values: elements with encoded attributes and texts, on lines with indentation. */
import { encodeAttribute, encodeText } from './escape.js';

/** A value of an attribute; null: the attribute is absent. */
type AttributeValue = string | number | null;

/** An element. It has either a text or child elements. */
export interface Markup {
  readonly name: string;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly text: string | null;
  readonly children: readonly Markup[];
}

/**
 * Returns an element.
 * @param content a text, or child elements; null stands for an absent child.
 */
export function element(
  name: string,
  attributes: Markup['attributes'] = {},
  content: string | number | readonly (Markup | null)[] = [],
): Markup {
  const isText = typeof content === 'string' || typeof content === 'number';
  return {
    name,
    attributes,
    text: isText ? String(content) : null,
    children: isText ? [] : content.filter((child) => child !== null),
  };
}

/** Returns the lines of an element, indented by two spaces for each level. */
export function markupLines({ name, attributes, text, children }: Markup): readonly string[] {
  const pairs = Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [` ${key}='${encodeAttribute(String(value))}'`],
  );
  const start = `<${name}${pairs.join('')}`;
  if (text !== null) return [`${start}>${encodeText(text)}</${name}>`];
  if (children.length === 0) return [`${start}/>`];
  return [`${start}>`, ...children.flatMap(markupLines).map((line) => `  ${line}`), `</${name}>`];
}
