/** Forms of a resource. The input survives an expired session, and a change of the resource by another client. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { holdWork } from '../ui/frame/leaving.js';
import { messageOf } from '../ui/states.js';
import { patch } from './redfish/client.js';
import { completeTask } from './redfish/tasks.js';
import { RedfishFailure } from './redfish/wire.js';
import type { ResourceView } from './resource.js';
import { draftTexts as texts } from '../texts/index.js';

/** The value of a field. */
export type FieldValue = string | number | boolean | null | readonly string[];

/** The values of a form. */
export type FieldValues = Readonly<Record<string, FieldValue>>;

/** A field that another client changed while the user edited the form. */
interface FieldConflict {
  readonly name: string;
  /** The value that the user saw. */
  readonly before: FieldValue;
  /** The value that the other client set. */
  readonly now: FieldValue;
}

/** A form with its input. */
export interface Draft {
  /** The values of the resource with the input of the user over them. */
  readonly values: FieldValues;
  /** Only the fields that the user changed. */
  readonly edits: FieldValues;
  readonly isChanged: boolean;
  readonly isBusy: boolean;
  /** The error of the last attempt to save. */
  readonly error: string | null;
  readonly conflicts: readonly FieldConflict[];
  readonly set: (name: string, value: FieldValue) => void;
  /** Drops the input. */
  readonly discard: () => void;
  /** Keeps the input in spite of the conflicts, so that it can be saved. */
  readonly keep: () => void;
  /** Sends the input. Returns whether the service accepted it. */
  readonly save: () => Promise<boolean>;
}

/** How a form reads and writes its resource. */
interface DraftOptions<Body> {
  /** The resource. Its body is null until it is read. */
  readonly resource: ResourceView<Body>;
  /** The URI of the resource that gets the PATCH. */
  readonly path: string;
  /** Returns the fields of the resource. */
  readonly read: (body: Body) => FieldValues;
  /** Returns the body of the PATCH. @param edits the changed fields. @param values all fields, with these changes. */
  readonly write: (edits: FieldValues, values: FieldValues) => object;
}

/** Returns the same text for equal values. An empty field equals a missing value. */
const textOf = (value: FieldValue | undefined): string => JSON.stringify(value === '' ? null : (value ?? null));
const isSame = (a: FieldValue | undefined, b: FieldValue | undefined): boolean => textOf(a) === textOf(b);

/** Returns the fields that differ between the version that the user saw and the current one. */
function conflictsOf(seen: FieldValues, current: FieldValues): readonly FieldConflict[] {
  return [...new Set([...Object.keys(seen), ...Object.keys(current)])]
    .filter((name) => !isSame(seen[name], current[name]))
    .map((name) => ({ name, before: seen[name] ?? null, now: current[name] ?? null }));
}

/** Returns the input without fields that have the value of the resource. */
function editsOf(edits: FieldValues, current: FieldValues): FieldValues {
  return Object.fromEntries(Object.entries(edits).filter(([name, value]) => !isSame(value, current[name])));
}

/** The form of a resource. */
export function useDraft<Body>({ resource, path, read, write }: DraftOptions<Body>): Draft {
  const input = useSignal<FieldValues>({});
  /** The fields when the input began; null: there is no input. */
  const seen = useSignal<FieldValues | null>(null);
  const isBusy = useSignal(false);
  const error = useSignal<string | null>(null);
  const { body, etag, reload } = resource;
  const current = body === null ? {} : read(body);
  const edits = editsOf(input.value, current);
  const isChanged = Object.keys(edits).length > 0;
  const conflicts = seen.value === null || !isChanged ? [] : conflictsOf(seen.value, current);

  const discard = (): void => {
    input.value = {};
    seen.value = null;
    error.value = null;
  };
  // With `useEffect`, the fields would show the edits of the earlier path for a moment.
  useLayoutEffect(discard, [path]);
  useLayoutEffect(() => (isChanged ? holdWork({ lost: texts.lost, end: 'page' }) : undefined), [isChanged]);
  const save = async (): Promise<boolean> => {
    isBusy.value = true;
    error.value = null;
    try {
      // A change for which the service downloads an image is a task.
      await completeTask(await patch(path, write(edits, { ...current, ...edits }), etag), () => undefined);
      await reload();
      discard();
      return true;
    } catch (thrown) {
      const isConflict = thrown instanceof RedfishFailure && thrown.status === 412;
      // After a conflict, the form needs the version of the other client.
      if (isConflict) await reload();
      error.value = isConflict ? texts.other : messageOf(thrown);
      return false;
    } finally {
      isBusy.value = false;
    }
  };
  return {
    values: { ...current, ...edits },
    edits,
    isChanged,
    isBusy: isBusy.value,
    error: error.value,
    conflicts,
    set: (name, value) => {
      seen.value ??= current;
      input.value = { ...input.value, [name]: value };
    },
    discard,
    keep: () => {
      seen.value = current;
      error.value = null;
    },
    save,
  };
}
