/**
 * Typed parameters: names with values of seven types. libvirt uses them for statistics, for
 * example.
 * @see https://libvirt.org/html/libvirt-libvirt-common.html#virTypedParameterType
 */
import { XdrError } from '../xdr.js';
import { array, bool, type Codec, double, hyper, int, string, struct, uhyper, uint } from '../codec.js';

/**
 * Value with its type. 64-bit values are always bigint, so that a counter does not change its type
 * when it grows.
 */
export type TypedParameterValue =
  | { readonly type: 'int' | 'uint' | 'double'; readonly value: number }
  | { readonly type: 'llong' | 'ullong'; readonly value: bigint }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string };

/** A value after the number of its type. */
const typedParameterValue: Codec<TypedParameterValue> = {
  encode: (writer, parameter) => {
    switch (parameter.type) {
      case 'int':
        writer.int32(1);
        int.encode(writer, parameter.value);
        break;
      case 'uint':
        writer.int32(2);
        uint.encode(writer, parameter.value);
        break;
      case 'llong':
        writer.int32(3);
        hyper.encode(writer, parameter.value);
        break;
      case 'ullong':
        writer.int32(4);
        uhyper.encode(writer, parameter.value);
        break;
      case 'double':
        writer.int32(5);
        double.encode(writer, parameter.value);
        break;
      case 'boolean':
        writer.int32(6);
        bool.encode(writer, parameter.value);
        break;
      case 'string':
        writer.int32(7);
        string.encode(writer, parameter.value);
        break;
    }
  },
  decode: (reader) => {
    const type = reader.int32();
    switch (type) {
      case 1:
        return { type: 'int', value: int.decode(reader) };
      case 2:
        return { type: 'uint', value: uint.decode(reader) };
      case 3:
        return { type: 'llong', value: hyper.decode(reader) };
      case 4:
        return { type: 'ullong', value: uhyper.decode(reader) };
      case 5:
        return { type: 'double', value: double.decode(reader) };
      case 6:
        return { type: 'boolean', value: bool.decode(reader) };
      case 7:
        return { type: 'string', value: string.decode(reader) };
      default:
        throw new XdrError(`typed parameter of unknown type ${type}`);
    }
  },
};

/** A list of typed parameters. */
export const typedParameters = array(struct({ field: string, value: typedParameterValue }));

/** Value of a parameter. 64-bit values are always bigint. */
export type ParameterValue = number | bigint | boolean | string;

/** Parameters by name: `{ 'state.state': 1, 'cpu.time': 123n }`. */
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** Converts parameters to a record. It has no prototype, because libvirtd chooses the names. */
export function toRecord(parameters: readonly { field: string; value: TypedParameterValue }[]): Parameters {
  const record: Record<string, ParameterValue> = Object.create(null) as Record<string, ParameterValue>;
  for (const { field, value } of parameters) record[field] = value.value;
  return record;
}
