/**
 * The virtual media and the boot override of a server, as values and as texts. The texts are stored
 * in the cloud. All daemons can change them there, and the owner of the server can too.
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import { z } from 'zod';
import { afterBoot, overrideDevice, untouchedOverride, type BootOverride } from '../../rules/boot-override.js';

/** The drive and the boot settings of a server, as clients have set them. */
export interface ServerState {
  /** The id of the image in the CD drive; null: empty. */
  readonly cd: string | null;
  readonly boot: BootOverride;
  /** Null: no client has set it, so the configuration applies. */
  readonly verifyCertificate: boolean | null;
  /** Null: the server has none. */
  readonly assetTag: string | null;
  /**
   * Present if this service boots an image, or has booted one. It is the id of the server's last
   * action before the boot; empty if there was none.
   */
  readonly bootedAfter?: string;
  /**
   * Present while a daemon switches off a server that runs an image, which needs two actions of
   * Nova.
   */
  readonly stopping?: Stopping;
}

/** A power-off that has begun. */
export interface Stopping {
  /** The id of the server's last action before the power-off. */
  readonly after: string;
  /** The daemon that executes it. */
  readonly by: string;
}

/** The key of the metadata item that contains the state of a server. */
export const STATE_KEY = 'rackless:state';

/**
 * Returns the name of a property of an image. The property contains the state of a server that has
 * this image in its drive.
 */
export const stateProperty = (serverId: string): string => `rackless_state_${serverId}`;

/** The state of a server before the first change of a client. */
export const untouchedState: ServerState = {
  cd: null,
  boot: untouchedOverride('hd'),
  verifyCertificate: null,
  assetTag: null,
};

/**
 * Maximum length of an asset tag, with its JSON escapes. The other members then always fit into the
 * item.
 */
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

/**
 * The version of a newer format. A newer service must add it to a text that this version would
 * misunderstand.
 */
const newerSchema = z.object({ v: z.int().min(1) });

/** Returns whether a newer version of the service has stored this text in a newer format. */
export function isOfNewerVersion(text: string | undefined): boolean {
  return newerSchema.safeParse(text === undefined ? undefined : parseJson(text)).success;
}

/** Parses a stored text; undefined if there is no text, or if this version did not write it. */
export function parseState(text: string | undefined): ServerState | undefined {
  const parsed = stateSchema.safeParse(text === undefined ? undefined : parseJson(text));
  if (!parsed.success || isOfNewerVersion(text)) return undefined;
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
    // A boot ends an earlier power-off, so an item never contains both.
    ...(stopping === undefined || bootedAfter !== undefined ? {} : { off: stopping.after, by: stopping.by }),
  });
}

/** Returns whether the item can hold an asset tag. */
export function fitsItem(assetTag: string): boolean {
  return textOf(assetTag).length - '""'.length <= MAX_ASSET_TAG;
}

/**
 * Formats JSON. Escapes characters beyond U+FFFF, because the databases of older clouds cannot
 * store them.
 */
function textOf(value: unknown): string {
  const units = (character: string): readonly string[] => character.split('');
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16)}`;
  return JSON.stringify(value).replaceAll(/[\u{10000}-\u{10ffff}]/gu, (found) => units(found).map(escaped).join(''));
}

/** Returns whether no client has changed the state. */
export function isUntouched(state: ServerState): boolean {
  return formatState(state) === formatState(untouchedState);
}

/** Returns the state after the boot that it describes. An override for one boot has then ended. */
export function afterItsBoot({ bootedAfter: _marker, ...state }: ServerState): ServerState {
  return { ...state, boot: afterBoot(state.boot) };
}

/** Returns the state without the boot that it describes, because this boot did not happen. */
export function beforeItsBoot({ bootedAfter: _marker, ...state }: ServerState): ServerState {
  return state;
}

/** Returns the state without a power-off. */
export function withoutStopping({ stopping: _stopping, ...state }: ServerState): ServerState {
  return state;
}

/**
 * Returns the device with the image for the next boot of a server; undefined if the server boots
 * its disks.
 */
export function imageToBoot({ cd, boot }: ServerState): 'cdrom' | 'network' | undefined {
  const device = overrideDevice(boot);
  if (device === 'network') return device;
  return device === 'cdrom' && cd !== null ? device : undefined;
}
