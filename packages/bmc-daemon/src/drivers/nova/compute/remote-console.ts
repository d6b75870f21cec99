/** Remote consoles: a proxy of the cloud gives access to the screen or the serial port of a server. */
import { z } from 'zod';
import type { GraphicalConsoleAccess } from '../../graphical-console-control.js';

/** A kind of console. A cloud usually offers only one kind. */
export interface ConsoleKind {
  readonly protocol: string;
  readonly type: string;
}

/** The serial kind. Its URL leads to a WebSocket. */
export const serialConsole: ConsoleKind = { protocol: 'serial', type: 'serial' };

/** The graphical kinds, most common first. */
export const consoleKinds: readonly ConsoleKind[] = [
  { protocol: 'vnc', type: 'novnc' },
  { protocol: 'spice', type: 'spice-html5' },
  { protocol: 'mks', type: 'webmks' },
];

/** Nova's answer. A browser opens the URL, so the schema accepts only URLs of HTTP and WebSockets. */
export const consoleSchema = z.object({
  remote_console: z.object({
    protocol: z.string().max(64),
    type: z.string().max(64),
    url: z.url({ protocol: /^(https?|wss?)$/ }).max(4096),
  }),
}) satisfies z.ZodType<{ remote_console: GraphicalConsoleAccess }>;
