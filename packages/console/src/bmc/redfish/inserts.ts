/** Inserts of images from servers. An insert continues while the user looks at another page. */
import { signal } from '@preact/signals';
import { patch, post, remove } from './client.js';
import type { Drive } from './machine-facts.js';
import { completeTask, type Progress } from './tasks.js';

/** An insert that runs or has failed. */
interface Insert {
  readonly url: string;
  /** Null until the service has answered with a task, and after a failure. */
  readonly progress: Progress | null;
  /** The failure; null while the insert runs. */
  readonly error: unknown;
}

/** The choices of the user. */
interface Choice {
  readonly url: string;
  /** A TransferMethod of Redfish. */
  readonly method: string;
  readonly isProtected: boolean;
  readonly isVerified: boolean;
  /** The login at the server; null: none. */
  readonly login: { readonly user: string; readonly password: string } | null;
}

/** The inserts by the URI of their drive. */
export const inserts = signal<ReadonlyMap<string, Insert>>(new Map());

/** Inserts an image. Resolves with true after a success, and with false after a failure, which `inserts` then has. */
export async function insertImage(drive: Drive, choice: Choice): Promise<boolean> {
  const { url, method, isProtected, isVerified, login } = choice;
  const uri = drive['@odata.id'];
  show(uri, { url, progress: null, error: null });
  try {
    if (isVerified !== (drive.VerifyCertificate === true)) await patch(uri, { VerifyCertificate: isVerified });
    const credentials = login === null ? {} : { UserName: login.user, Password: login.password };
    const body = { Image: url, TransferMethod: method, WriteProtected: isProtected, ...credentials };
    const target = drive.Actions?.['#VirtualMedia.InsertMedia']?.target ?? '';
    await completeTask(await post(target, body), (progress) => show(uri, { url, progress, error: null }));
    inserts.value = new Map([...inserts.value].filter(([key]) => key !== uri));
    return true;
  } catch (error) {
    show(uri, { url, progress: null, error });
    return false;
  }
}

/**
 * Cancels a running insert. Does nothing while it has no task yet.
 * @throws {RedfishFailure} if the service rejects the cancellation, or does not answer.
 */
export async function cancelInsert({ progress }: Insert): Promise<void> {
  if (progress !== null) await remove(progress.task);
}

function show(uri: string, insert: Insert): void {
  inserts.value = new Map(inserts.value).set(uri, insert);
}
