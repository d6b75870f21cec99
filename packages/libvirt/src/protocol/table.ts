import type { AnyCodec, Codec, Value } from '../xdr.js';
import type { Procedure, StreamDirection } from './procedure.js';

/** One line of a table: number, arguments, result, and which way a stream that follows the call carries data. */
export interface ProcedureLiteral {
  readonly number: number;
  readonly args: AnyCodec;
  readonly result: AnyCodec;
  readonly stream?: StreamDirection;
}

/** A table's procedures under the keys of its literals, their types taken from the codecs. */
export type ProcedureTable<T extends Record<string, ProcedureLiteral>> = {
  readonly [K in keyof T]: Procedure<Value<T[K]['args']>, Value<T[K]['result']>>;
};

/**
 * Gives each literal its program and its name. A number is part of libvirt's wire protocol: it never changes, and a wrong one
 * is another call, perhaps a destructive one.
 * @param prefix noun that the names start with: `domain` makes `lookupByName` into `domainLookupByName`.
 */
export function procedures<const T extends Record<string, ProcedureLiteral>>(
  program: number,
  prefix: string,
  literals: T,
): ProcedureTable<T> {
  const entries = Object.entries<ProcedureLiteral>(literals).map(([key, literal]) => {
    // The codecs' types come back through ProcedureTable; here any will do.
    const { args, result, ...rest } = literal as ProcedureLiteral & { args: Codec<unknown>; result: Codec<unknown> };
    const procedure: Procedure<unknown, unknown> = { name: nameOf(prefix, key), program, args, result, ...rest };
    return [key, procedure];
  });
  return Object.fromEntries(entries) as ProcedureTable<T>;
}

function nameOf(prefix: string, key: string): string {
  return `${prefix}${key.charAt(0).toUpperCase()}${key.slice(1)}`;
}
