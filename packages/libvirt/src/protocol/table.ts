import type { AnyCodec, Codec, Value } from '../codec.js';
import type { Procedure, StreamDirection } from './procedure.js';

/** Entry of a table of procedures. `stream`: direction of the stream that the call opens. */
interface ProcedureLiteral {
  readonly number: number;
  readonly args: AnyCodec;
  readonly result: AnyCodec;
  readonly stream?: StreamDirection;
}

/** Table of procedures. The codecs determine the types. */
type ProcedureTable<T extends Record<string, ProcedureLiteral>> = {
  readonly [K in keyof T]: Procedure<Value<T[K]['args']>, Value<T[K]['result']>>;
};

/**
 * Adds the program and the name to each entry of a table. Check numbers carefully: a wrong number
 * is another call, perhaps a destructive one.
 * @param prefix start of the names: `domain` turns `lookupByName` into `domainLookupByName`.
 */
export function procedures<const T extends Record<string, ProcedureLiteral>>(
  program: number,
  prefix: string,
  literals: T,
): ProcedureTable<T> {
  const entries = Object.entries<ProcedureLiteral>(literals).map(([key, literal]) => {
    // ProcedureTable restores the types of the codecs.
    const { args, result, ...rest } = literal as ProcedureLiteral & { args: Codec<unknown>; result: Codec<unknown> };
    const procedure: Procedure<unknown, unknown> = { name: procedureName(prefix, key), program, args, result, ...rest };
    return [key, procedure];
  });
  return Object.fromEntries(entries) as ProcedureTable<T>;
}

function procedureName(prefix: string, key: string): string {
  return `${prefix}${key.charAt(0).toUpperCase()}${key.slice(1)}`;
}
