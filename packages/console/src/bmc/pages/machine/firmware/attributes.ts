/** Firmware settings with the types of the attribute registry. */
import type { FieldValue, FieldValues } from '../../../draft.js';

/** An attribute of the registry. */
export interface Attribute {
  readonly AttributeName: string;
  readonly DisplayName?: string;
  readonly HelpText?: string;
  readonly Type: 'Enumeration' | 'String' | 'Integer' | 'Boolean' | 'Password';
  readonly ReadOnly?: boolean;
  readonly Value?: readonly { readonly ValueName: string; readonly ValueDisplayName?: string }[];
  readonly LowerBound?: number;
  readonly UpperBound?: number;
  readonly MaxLength?: number;
}

/** Returns the attributes of a machine. An attribute that the registry lacks becomes a read-only text. */
export function attributesOf(values: FieldValues, registry: readonly Attribute[]): readonly Attribute[] {
  return Object.keys(values).map(
    (name) =>
      registry.find(({ AttributeName }) => AttributeName === name) ?? {
        AttributeName: name,
        Type: 'String',
        ReadOnly: true,
      },
  );
}

/**
 * Returns the input of a field with the type of its attribute. For a number, an input
 * that is not an integer stays a text, which the service rejects.
 */
export function parseInput(text: string, { Type }: Attribute): FieldValue {
  if (Type === 'Boolean') return text === 'true';
  if (Type !== 'Integer') return text;
  const number = Number(text);
  return text.trim() === '' || !Number.isInteger(number) ? text : number;
}
