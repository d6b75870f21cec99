/** Reads the values of YAML's scalars as PyYAML does, except for types that no setting has. */
import {
  boolYaml11Tag,
  COLLECTION_STYLE,
  constructFromEvents,
  defineScalarTag,
  EVENT_ID,
  floatYaml11Tag,
  NOT_RESOLVED,
  Schema,
  YAML11_SCHEMA,
  type Event,
} from 'js-yaml';

/**
 * Types that no setting has. Their tags are reported as unknown, although PyYAML reads them. A date
 * without a tag is a string here, and a date in PyYAML.
 */
const UNWANTED_TAGS = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/**
 * Excludes `y` and `n`: they are booleans in YAML 1.1 but not in PyYAML, and could be the name of a
 * model.
 */
const booleanTag = defineScalarTag(boolYaml11Tag.tagName, {
  ...boolYaml11Tag,
  resolve: (source, isExplicit, tagName) =>
    /^[yn]$/i.test(source) ? NOT_RESOLVED : boolYaml11Tag.resolve(source, isExplicit, tagName),
});

/**
 * After an explicit tag, also accepts integers and exponents without a dot, as Python's `float` does:
 * `!!float 5`, `!!float 1e3`.
 */
const floatTag = defineScalarTag(floatYaml11Tag.tagName, {
  ...floatYaml11Tag,
  resolve: (source, isExplicit, tagName) => {
    const number = source.replaceAll('_', '');
    return isExplicit && /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(number)
      ? Number(number)
      : floatYaml11Tag.resolve(source, isExplicit, tagName);
  },
});

const schema = new Schema(YAML11_SCHEMA.tags.filter(({ tagName }) => !UNWANTED_TAGS.has(tagName))).withTags(
  booleanTag,
  floatTag,
);

/**
 * Constructs the values of all scalars of a document as one list. js-yaml constructs whole
 * documents, without the places of their values, so `yaml-document.ts` builds the document. One
 * call for all scalars is faster than a call for each.
 */
export function scalarValues(text: string, file: string, events: readonly Event[]): readonly unknown[] {
  const end = { type: EVENT_ID.POP };
  const none = -1;
  const list: Event[] = [
    { type: EVENT_ID.DOCUMENT, explicitStart: false, explicitEnd: false, directives: [] },
    {
      type: EVENT_ID.SEQUENCE,
      start: 0,
      anchorStart: none,
      anchorEnd: none,
      tagStart: none,
      tagEnd: none,
      style: COLLECTION_STYLE.FLOW,
    },
    ...events.filter(({ type }) => type === EVENT_ID.SCALAR),
    end,
    end,
  ];
  const [values] = constructFromEvents(list, { source: text, schema, filename: file });
  return Array.isArray(values) ? values : [];
}
