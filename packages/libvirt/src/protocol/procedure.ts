import type { Codec } from '../xdr.js';

/** Program numbers of libvirt's RPC, all of version 1. @see https://libvirt.org/kbase/internals/rpc.html */
export const PROGRAM = { remote: 0x2000_8086, qemu: 0x2000_8087, keepalive: 0x6b65_6570 } as const;

/** The one version that every program has. */
export const PROGRAM_VERSION = 1;

/** Which way a stream procedure's data goes, seen from the client. */
export type StreamDirection = 'upload' | 'download' | 'both';

/** One remote call: where it goes and how its arguments and results look. */
export interface Procedure<A, R> {
  /** libvirt's name minus `vir`, camelCase; it appears in errors. */
  readonly name: string;
  readonly program: number;
  readonly number: number;
  readonly args: Codec<A>;
  readonly result: Codec<R>;
  /** Present when a successful reply opens a stream: call it with `Link.openStream`. */
  readonly stream?: StreamDirection;
}

/** A message that libvirtd sends by itself: what it looks like and under which number it comes. */
export interface EventProcedure<E> {
  /** libvirt's name minus `vir`, camelCase. */
  readonly name: string;
  readonly program: number;
  readonly number: number;
  readonly event: Codec<E>;
}
