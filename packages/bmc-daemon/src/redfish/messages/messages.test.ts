import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { messageTable } from './base-registry.js';
import { withPointers, message, messageText, renderMessage, withDetail } from './messages.js';

interface RegistryMessage {
  readonly NumberOfArgs: number;
  readonly ParamTypes?: readonly string[];
  readonly MessageSeverity: string;
  readonly Message: string;
}

const schemas = process.env['RACKLESS_REDFISH_SCHEMAS'];

describe('a message', () => {
  it('is rendered with id, text, arguments, severity, resolution and the pointer into the body', () => {
    expect(renderMessage(withPointers(message('PropertyValueNotInList', 'Floppy', 'Target'), '#/Boot/Target'))).toEqual(
      {
        '@odata.type': '#Message.v1_3_0.Message',
        MessageId: 'Base.1.22.PropertyValueNotInList',
        Message: "The value 'Floppy' is not one that the property Target accepts.",
        MessageArgs: ['Floppy', 'Target'],
        MessageSeverity: 'Warning',
        Resolution: 'Choose one of the accepted values.',
        RelatedProperties: ['#/Boot/Target'],
      },
    );
  });

  it('has at most 500 characters of a long argument, and only a part of a long pointer or detail', () => {
    const long = 'x'.repeat(2 ** 20);
    const rendered = renderMessage(withDetail(withPointers(message('PropertyUnknown', long), `#/${long}`), long));
    expect(rendered['MessageArgs']).toEqual([`${'x'.repeat(500)}…`]);
    expect(JSON.stringify(rendered).length).toBeLessThan(5000);
  });

  it('has a detail as a separate sentence, and its arguments as strings', () => {
    const subject = withDetail(message('StringValueTooLong', 'abc', 2), 'Two is plenty.');
    expect(messageText(subject)).toBe("The string 'abc' is longer than 2 characters. Two is plenty.");
    expect(renderMessage(subject)['MessageArgs']).toEqual(['abc', '2']);
  });

  it('does not expand placeholders inside an argument', () => {
    expect(messageText(message('PropertyValueFormatError', '%2$&', 'UUID'))).toBe(
      "The value '%2$&' has the wrong format for the property UUID.",
    );
  });

  it.each(Object.entries(messageTable))('contains exactly its arguments in its text: %s', (_key, entry) => {
    const named = [...entry.text.matchAll(/%(\d)/g)].map((match) => Number(match[1])).sort();
    expect(named).toEqual(entry.args.map((_, index) => index + 1));
  });

  if (schemas === undefined && process.env['RACKLESS_REQUIRE_ALL'] !== '1') {
    it.skip('has the arguments of the Base registry: not tested without RACKLESS_REDFISH_SCHEMAS', () => undefined);
    return;
  }
  it('has the key, arguments and severity of a message of the Base registry, and our own text', () => {
    // If RACKLESS_REQUIRE_ALL is set, a missing path fails here instead of skipping the test.
    const text = readFileSync(join(schemas ?? '', 'registries/Base.1.22.1.json'), 'utf8');
    const registry = JSON.parse(text) as { readonly Messages: Readonly<Record<string, RegistryMessage>> };
    for (const [key, entry] of Object.entries(messageTable)) {
      const theirs = registry.Messages[key];
      expect({ key, args: entry.args, severity: entry.severity }).toEqual({
        key,
        args: theirs?.NumberOfArgs === 0 ? [] : theirs?.ParamTypes,
        severity: theirs?.MessageSeverity,
      });
      expect(entry.text).not.toBe(theirs?.Message);
    }
  });
});
