/**
 * The virtual media and the boot override of a server, as values and as texts. The texts are stored
 * in the cloud. All daemons can change them there, and the owner of the server can too.
 */
import { createHash, randomBytes } from 'node:crypto';
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
  /** Null: the server has no asset tag. */
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
  /** The daemon that executes it, as the first {@link MAX_DAEMON} characters of its id. */
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

/** Maximum length of the id of an action in the item. Nova's ids have 40 characters. */
export const MAX_ACTION = 40;

/** Maximum length of the id of a daemon in the item. */
export const MAX_DAEMON = 12;

/** Number of random bytes that distinguish the items of a server. */
const RANDOM_BYTES = 3;

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

/** The hash of the item that a change replaces. */
const changeSchema = z.object({ on: z.string().optional() });

/**
 * The version of a newer format. A newer service must add it to a text that this version would
 * misunderstand.
 */
const newerSchema = z.object({ v: z.int().min(1) });

/** Returns whether a newer version of the service has stored this text in a newer format. */
export function isOfNewerVersion(text: string | undefined): boolean {
  return newerSchema.safeParse(valueOf(text)).success;
}

/** Parses a stored text; undefined if there is no text, or if this version cannot read it. */
export function parseState(text: string | undefined): ServerState | undefined {
  return stateOf(valueOf(text));
}

const valueOf = (text: string | undefined): unknown => (text === undefined ? undefined : parseJson(text));

function stateOf(value: unknown): ServerState | undefined {
  const parsed = stateSchema.safeParse(value);
  if (!parsed.success || newerSchema.safeParse(value).success) return undefined;
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

/**
 * Formats a state for the metadata item, in 255 characters or less if {@link fitsItem} accepts its asset tag. Each
 * call returns another text, even for the same state. So a change that replaces an earlier item never applies to a
 * later one.
 */
export function formatItem(state: ServerState): string {
  return textOf({ ...membersOf(state), n: randomBytes(RANDOM_BYTES).toString('base64url') });
}

/** Returns whether two states are the same. */
export function isSameState(one: ServerState, other: ServerState): boolean {
  return textOf(membersOf(one)) === textOf(membersOf(other));
}

/**
 * Formats a change for the property of an image.
 * @param item the metadata item that Nova has locked. The change replaces this text, and no later one.
 */
export function formatChange(state: ServerState, item: string | undefined): string {
  return textOf({ ...membersOf(state), on: digest(item) });
}

/**
 * Parses the property of an image; undefined if there is none, or if this version cannot read it.
 * Also undefined if the item has another text now: a daemon has moved the change to the item, and was
 * killed before it removed the property.
 * @param item the current text of the metadata item.
 */
export function parseChange(text: string | undefined, item: string | undefined): ServerState | undefined {
  const value = valueOf(text);
  const { on } = changeSchema.safeParse(value).data ?? {};
  // Older versions did not store the hash.
  return on === undefined || on === digest(item) ? stateOf(value) : undefined;
}

/** Returns a hash of an item. It is short, because it only distinguishes the items of one server. */
function digest(item = ''): string {
  return createHash('sha256').update(item).digest('hex').slice(0, 16);
}

function membersOf(state: ServerState): Readonly<Record<string, unknown>> {
  const { cd, boot, verifyCertificate: verify, assetTag: tag, bootedAfter, stopping } = state;
  return {
    ...(cd === null ? {} : { cd }),
    enabled: boot.enabled,
    target: boot.target,
    ...(verify === null ? {} : { verify }),
    ...(tag === null ? {} : { tag }),
    ...(bootedAfter === undefined ? {} : { after: bootedAfter }),
    // A boot ends an earlier power-off, so an item never contains both.
    ...(stopping === undefined || bootedAfter !== undefined ? {} : { off: stopping.after, by: stopping.by }),
  };
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
  return isSameState(state, untouchedState);
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
