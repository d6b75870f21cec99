/**
 * The virtual media and the boot override of a server as values. Their texts are stored in the cloud,
 * where all daemons and also the owner of the server can change them.
 */
import { z } from 'zod';
import { afterBoot, overrideDevice, untouchedOverride, type BootOverride } from '../../rules/boot-override.js';

/** The drive and the boot settings of a server, as clients have set them. */
export interface ServerState {
  /** The id of the image in the CD drive; null: empty. */
  readonly cd: string | null;
  readonly boot: BootOverride;
  /** Null: no client has set it, so the configuration applies. */
  readonly verifyCertificate: boolean | null;
  /** Null: none. */
  readonly assetTag: string | null;
  /**
   * Present if this service boots, or has booted, an image: the id of the server's last action before
   * that, which is empty if there was none.
   */
  readonly bootedAfter?: string;
  /** Present while a daemon switches off a server that runs an image, which takes two actions of Nova. */
  readonly stopping?: Stopping;
}

/** A power-off that has begun. */
export interface Stopping {
  /** The id of the server's last action before the power-off. */
  readonly after: string;
  /** The daemon that executes it. */
  readonly by: string;
}

/** The metadata item of a server with its state. */
export const STATE_KEY = 'rackless:state';

/** The name of an image's property with the state of a server that has this image in its drive. */
export const stateProperty = (serverId: string): string => `rackless_state_${serverId}`;

/** The state of a server that no client has changed. */
export const untouchedState: ServerState = {
  cd: null,
  boot: untouchedOverride('hd'),
  verifyCertificate: null,
  assetTag: null,
};

/** Maximum length of an asset tag, as it is written in the item, so that the other members always fit. */
export const MAX_ASSET_TAG = 64;

/** Maximum length of the id of an action in a power-off. Nova's ids have 40 characters. */
export const MAX_ACTION = 40;

const stateSchema = z.object({
  cd: z.guid().toLowerCase().nullish(),
  enabled: z.enum(['once', 'continuous', 'disabled']).optional(),
  target: z.enum(['network', 'cdrom', 'hd', 'none']).optional(),
  verify: z.boolean().nullish(),
  tag: z
    .string()
    .max(MAX_ASSET_TAG)
    .regex(/^[^\p{Cc}\p{Cs}]+$/u)
    .optional(),
  after: z.string().max(64).optional(),
  off: z.string().max(MAX_ACTION).optional(),
  by: z.string().max(16).optional(),
});

/** Parses a stored text; undefined if there is none, or if it is not one of this service. */
export function parseState(text: string | undefined): ServerState | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = stateSchema.safeParse(value);
  if (!parsed.success) return undefined;
  const { cd = null, verify = null, tag = null, after, off, by, enabled, target } = parsed.data;
  const { boot } = untouchedState;
  return {
    cd,
    boot: { enabled: enabled ?? boot.enabled, target: target ?? boot.target },
    verifyCertificate: verify,
    assetTag: tag,
    ...(after === undefined ? {} : { bootedAfter: after }),
    ...(off === undefined || by === undefined ? {} : { stopping: { after: off, by } }),
  };
}

/** Formats a state, in 255 characters or less if {@link fitsItem} accepts its asset tag. */
export function formatState(state: ServerState): string {
  const { cd, boot, verifyCertificate: verify, assetTag: tag, bootedAfter, stopping } = state;
  return textOf({
    ...(cd === null ? {} : { cd }),
    enabled: boot.enabled,
    target: boot.target,
    ...(verify === null ? {} : { verify }),
    ...(tag === null ? {} : { tag }),
    ...(bootedAfter === undefined ? {} : { after: bootedAfter }),
    // A boot that begins ends the power-off before it, so that an item never has both.
    ...(stopping === undefined || bootedAfter !== undefined ? {} : { off: stopping.after, by: stopping.by }),
  });
}

/** Returns whether the item can hold an asset tag. */
export function fitsItem(assetTag: string): boolean {
  return textOf(assetTag).length - '""'.length <= MAX_ASSET_TAG;
}

/** Formats JSON. Databases of older clouds do not store characters beyond U+FFFF, so it escapes them. */
function textOf(value: unknown): string {
  const units = (character: string): readonly string[] => character.split('');
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16)}`;
  return JSON.stringify(value).replaceAll(/[\u{10000}-\u{10ffff}]/gu, (found) => units(found).map(escaped).join(''));
}

/** Returns whether a state is that of a server that no client has changed. */
export function isUntouched(state: ServerState): boolean {
  return formatState(state) === formatState(untouchedState);
}

/** Returns the state after the boot that it describes: a once override has ended. */
export function afterItsBoot({ bootedAfter: _marker, ...state }: ServerState): ServerState {
  return { ...state, boot: afterBoot(state.boot) };
}

/** Returns the state before the boot that it describes, which did not take place. */
export function beforeItsBoot({ bootedAfter: _marker, ...state }: ServerState): ServerState {
  return state;
}

/** Returns the state without a power-off. */
export function withoutStopping({ stopping: _stopping, ...state }: ServerState): ServerState {
  return state;
}

/** Returns which image the next boot of a server needs; undefined: it boots its disks. */
export function imageToBoot({ cd, boot }: ServerState): 'cdrom' | 'network' | undefined {
  const device = overrideDevice(boot);
  if (device === 'network') return device;
  return device === 'cdrom' && cd !== null ? device : undefined;
}
