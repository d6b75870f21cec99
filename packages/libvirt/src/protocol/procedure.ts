import type { Codec } from '../codec.js';

/** Program numbers of libvirt's RPC. @see https://libvirt.org/kbase/internals/rpc.html */
export const PROGRAM = { remote: 0x2000_8086, qemu: 0x2000_8087, keepalive: 0x6b65_6570 } as const;

/** Version of all programs. */
export const PROGRAM_VERSION = 1;

/** Direction of the data of a stream, as seen from the client. */
export type StreamDirection = 'upload' | 'download' | 'both';

/** A remote procedure with the codecs of its arguments and its result. */
export interface Procedure<A, R> {
  /** libvirt's name without `vir`, in camelCase. Errors contain it. */
  readonly name: string;
  readonly program: number;
  readonly number: number;
  readonly args: Codec<A>;
  readonly result: Codec<R>;
  /** Present if a successful reply opens a stream. Use `Link.openStream` for such a procedure. */
  readonly stream?: StreamDirection;
}

/** An event message with its codec. */
export interface EventProcedure<E> {
  /** libvirt's name without `vir`, in camelCase. */
  readonly name: string;
  readonly program: number;
  readonly number: number;
  readonly event: Codec<E>;
}
