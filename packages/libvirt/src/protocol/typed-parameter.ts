/**
 * libvirt's typed parameters: a name and a value of one of seven types, as bulk statistics and the like carry them.
 * @see https://libvirt.org/html/libvirt-libvirt-common.html#virTypedParameterType
 */
import { array, bool, type Codec, double, hyper, int, string, struct, uhyper, uint, XdrError } from '../xdr.js';

/** Both 64-bit types are a bigint whatever their size, so that a counter does not change its type as it grows. */
export type TypedParameterValue =
  | { readonly type: 'int' | 'uint' | 'double'; readonly value: number }
  | { readonly type: 'llong' | 'ullong'; readonly value: bigint }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string };

/** A union after its discriminant, which is a 32-bit integer. */
export const typedParameterValue: Codec<TypedParameterValue> = {
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

/** Typed parameters in the order that the daemon sent them. */
export const typedParameters = array(struct({ field: string, value: typedParameterValue }));

/** What one parameter gives to the caller: 64-bit values are bigint, always. */
export type ParameterValue = number | bigint | boolean | string;

/** Parameters by name: `{ 'state.state': 1, 'cpu.time': 123n }`. */
export type Parameters = Readonly<Record<string, ParameterValue>>;

/** Parameters as a record without prototype, since their names come from outside. */
export function toRecord(parameters: readonly { field: string; value: TypedParameterValue }[]): Parameters {
  const record: Record<string, ParameterValue> = Object.create(null) as Record<string, ParameterValue>;
  for (const { field, value } of parameters) record[field] = value.value;
  return record;
}
