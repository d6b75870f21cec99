/**
 * Decides by the value of a setting whether it prevents the start: some values of `callbacks` and `guardrails`
 * restrict access, other values only add features.
 */
import { toPlain, type YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** A part of a setting's value that prevents the start. The other parts of the value do not prevent it. */
interface ProtectiveValue {
  readonly node: YamlNode;
  /** Path below the setting. */
  readonly path: readonly (string | number)[];
  /** The reason, which begins the message "…, and this is not implemented". */
  readonly what: string;
}

/** LiteLLM's callbacks that reject or change requests. */
const guards = new Set(
  `aporia_prompt_injection banned_keywords batch_rate_limiter blocked_user_check detect_prompt_injection dynamic_rate_limiter
  dynamic_rate_limiter_v3 google_text_moderation hide_secrets lakera_prompt_injection llamaguard_moderations llmguard_moderations
  max_budget_limiter openai_moderations parallel_request_limiter azure_content_safety presidio_pii presidio`.split(
    /\s+/,
  ),
);

/** By the setting: returns why an item of its value prevents the start; undefined: it does not. */
const rules: Readonly<Record<string, (item: YamlNode) => string | undefined>> = {
  callbacks: (item) => {
    const name = textOf(item);
    if (name === undefined) return undefined;
    if (guards.has(name)) return 'rejects or changes requests';
    return name.includes('.') ? 'is custom code, which may reject requests' : undefined;
  },
  guardrails: (item) => (isOnByDefault(toPlain(item)) ? 'checks every request (default_on)' : undefined),
};

/**
 * Settings whose values the rules check. If the rule rejects no part of a value, the proxy warns that it ignores the
 * setting, unless it implements all the callbacks in the value.
 */
export const checkedByValue: ReadonlySet<string> = new Set(Object.keys(rules));

/** Returns the rejected parts of a setting. @param name the name of the setting. */
export function protectiveValues(name: string, node: YamlNode): readonly ProtectiveValue[] {
  const rule = rules[name];
  if (rule === undefined) return [];
  const items = node.kind === 'sequence' ? node.items.map((item, index) => ({ item, path: [index] })) : [];
  return (items.length === 0 ? [{ item: node, path: [] }] : items).flatMap(({ item, path }) => {
    const what = rule(item);
    return what === undefined ? [] : [{ node: item, path, what }];
  });
}

const textOf = (node: YamlNode) => (node.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined);

/**
 * Returns whether a guardrail has `default_on` with a true value (such as `yes`) at any depth:
 * `litellm_params: {default_on: true}` or `name: {default_on: true}`.
 */
function isOnByDefault(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, member]) =>
    key === 'default_on' ? member === true || /^(true|yes|on|1)$/i.test(String(member)) : isOnByDefault(member),
  );
}
