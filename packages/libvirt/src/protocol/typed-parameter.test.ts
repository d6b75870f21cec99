import { describe, expect, it } from '@jest/globals';
import { XdrError, XdrReader, XdrWriter } from '../xdr.js';
import { toRecord, type TypedParameterValue, typedParameters } from './typed-parameter.js';

const parameters: readonly { field: string; value: TypedParameterValue }[] = [
  { field: 'a.int', value: { type: 'int', value: -1 } },
  { field: 'a.uint', value: { type: 'uint', value: 4_294_967_295 } },
  { field: 'a.llong', value: { type: 'llong', value: -1n } },
  { field: 'a.ullong', value: { type: 'ullong', value: 2n ** 64n - 1n } },
  { field: 'a.double', value: { type: 'double', value: 0.25 } },
  { field: 'a.boolean', value: { type: 'boolean', value: true } },
  { field: '__proto__', value: { type: 'string', value: 'text' } },
];

describe('typed parameters', () => {
  it('are the same after encoding and decoding, in each of the seven types', () => {
    const writer = new XdrWriter();
    typedParameters.encode(writer, parameters);
    expect(typedParameters.decode(new XdrReader(writer.finish()))).toEqual(parameters);
  });

  it('become a record without a prototype, even with the name __proto__', () => {
    const record = toRecord(parameters);
    expect(Object.getPrototypeOf(record)).toBeNull();
    expect(Object.entries(record)).toEqual(parameters.map(({ field, value }) => [field, value.value]));
  });

  it('are rejected if the type is unknown', () => {
    const writer = new XdrWriter();
    writer.uint32(1);
    writer.variable(Buffer.from('x'));
    writer.int32(8);
    writer.int32(0);
    expect(() => typedParameters.decode(new XdrReader(writer.finish()))).toThrow(
      new XdrError('typed parameter of unknown type 8'),
    );
  });
});
