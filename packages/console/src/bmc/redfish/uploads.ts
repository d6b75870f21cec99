/**
 * Uploads of local files with the tus protocol. An upload continues while the user looks at another
 * page. After a reload, it continues when the user chooses the same file again.
 */
import { computed, effect, signal } from '@preact/signals';
import { holdWork } from '../../ui/frame/leaving.js';
import { mediaTexts } from '../../texts/index.js';
import { send } from './client.js';
import { isUsable } from './session.js';
import { RedfishFailure } from './wire.js';

/** An upload, as the page shows it. */
export interface UploadState {
  readonly name: string;
  readonly sizeBytes: number;
  readonly sentBytes: number;
  /**
   * `interrupted`: the page was reloaded, and has no file yet. `finishing`: the page sends the last
   * part, and waits for its answer. `failed`: the upload cannot continue.
   */
  readonly phase: 'sending' | 'retrying' | 'paused' | 'interrupted' | 'finishing' | 'failed' | 'done';
  readonly error: string | null;
}

/** An upload, and the properties that identify its file after a reload of the page. */
interface StoredUpload {
  /** URL path of the upload at the service. */
  readonly path: string;
  readonly name: string;
  readonly sizeBytes: number;
  /** The file's last modification, in milliseconds since 1970. */
  readonly modified: number;
}

interface Job extends StoredUpload {
  readonly file: File;
  readonly controller: AbortController;
}

/** The uploads by the URI of their drive. */
export const uploads = signal<ReadonlyMap<string, UploadState>>(new Map());

/**
 * Maximum size of a part. A part must be small, because the service limits the time of a request.
 */
const PART_BYTES = 8 * 1_048_576;
const PART_DEADLINE_MS = 280_000;
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 10_000;
const tus = { 'Tus-Resumable': '1.0.0' };

const isSending = computed(() =>
  [...uploads.value.values()].some(({ phase }) => ['sending', 'retrying', 'finishing'].includes(phase)),
);
// After a logout, an upload must not stop the user from leaving the page.
effect(() => (isSending.value && isUsable.value ? holdWork({ lost: mediaTexts.lost, end: 'console' }) : undefined));

const jobs = new Map<string, Job>();
const keyOf = (drive: string): string => `rackless.upload ${drive}`;

/**
 * Announces a file, and begins to send it.
 * @param uri the address for uploads of the drive.
 * @throws {RedfishFailure} if the service does not accept the file, or does not answer.
 */
export async function startUpload(drive: string, uri: string, file: File, isProtected: boolean): Promise<void> {
  const metadata = [`filename ${base64(file.name)}`, `writeprotected ${base64(String(isProtected))}`].join(',');
  const headers = { ...tus, 'Upload-Length': String(file.size), 'Upload-Metadata': metadata };
  const { location } = await send('POST', uri, { headers });
  const path = new URL(location ?? '', window.location.href).pathname;
  const stored = { path, name: file.name, sizeBytes: file.size, modified: file.lastModified };
  localStorage.setItem(keyOf(drive), JSON.stringify(stored));
  run(drive, stored, file, 0);
}

/** Stops sending. The service keeps the received bytes for some time. */
export function pauseUpload(drive: string): void {
  jobs.get(drive)?.controller.abort();
  change(drive, { phase: 'paused' });
}

/**
 * Continues a paused or interrupted upload.
 * @param chosen the file, after a reload of the page.
 * @returns false if it is another file, or if there is no upload or no file.
 */
export function resumeUpload(drive: string, chosen?: File): boolean {
  const stored = storedUpload(drive);
  const file = chosen ?? jobs.get(drive)?.file;
  if (stored === null || file === undefined) return false;
  const isSame = file.name === stored.name && file.size === stored.sizeBytes && file.lastModified === stored.modified;
  if (isSame) run(drive, stored, file, uploads.value.get(drive)?.sentBytes ?? 0);
  return isSame;
}

/**
 * Cancels an upload, and removes what the service has received. If the service does not remove it, the upload stays:
 * paused, or interrupted as before.
 * @throws {RedfishFailure} if the service does not remove it.
 */
export async function cancelUpload(drive: string): Promise<void> {
  const stored = storedUpload(drive);
  if (jobs.has(drive)) pauseUpload(drive);
  if (stored !== null) {
    await send('DELETE', stored.path, { headers: tus }).catch((error: unknown) => {
      if (!(error instanceof RedfishFailure) || ![404, 410].includes(error.status)) throw error;
    });
  }
  forget(drive);
}

/**
 * Finds an upload that a reload of the page has interrupted, and shows it. Forgets it if it is complete, or if the
 * service answers with an error that stays, such as 404.
 */
export async function findUpload(drive: string): Promise<void> {
  const stored = storedUpload(drive);
  if (stored === null || uploads.value.has(drive)) return;
  let sentBytes: number | null = null;
  try {
    sentBytes = await received(stored.path);
  } catch (error) {
    // Keeps the stored upload, so that it is found when the user opens the page again.
    if (isTemporary(error)) return;
  }
  if (uploads.value.has(drive)) return;
  if (sentBytes === null || sentBytes === stored.sizeBytes) localStorage.removeItem(keyOf(drive));
  else show(drive, { ...stored, sentBytes, phase: 'interrupted', error: null });
}

/** Removes a finished or failed upload from the page. */
export function forget(drive: string): void {
  jobs.delete(drive);
  localStorage.removeItem(keyOf(drive));
  uploads.value = new Map([...uploads.value].filter(([key]) => key !== drive));
}

function run(drive: string, stored: StoredUpload, file: File, sentBytes: number): void {
  const job = { ...stored, file, controller: new AbortController() };
  jobs.set(drive, job);
  show(drive, { ...stored, sentBytes, phase: 'sending', error: null });
  void sendAll(drive, job).catch((error: unknown) => {
    if (job.controller.signal.aborted) return;
    localStorage.removeItem(keyOf(drive));
    change(drive, { phase: 'failed', error: error instanceof Error ? error.message : String(error) });
  });
}

async function sendAll(drive: string, job: Job): Promise<void> {
  const { path, file, sizeBytes, controller } = job;
  let pause = FIRST_PAUSE_MS;
  while (!controller.signal.aborted) {
    try {
      let offset = await received(path, controller.signal);
      while (offset < sizeBytes) {
        const part = file.slice(offset, offset + PART_BYTES);
        const isLast = offset + part.size === sizeBytes;
        change(drive, { phase: isLast ? 'finishing' : 'sending', sentBytes: offset });
        offset = await sendPart(path, part, offset, controller.signal);
        pause = FIRST_PAUSE_MS;
      }
      localStorage.removeItem(keyOf(drive));
      change(drive, { phase: 'done', sentBytes: sizeBytes });
      return;
    } catch (error) {
      controller.signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      change(drive, { phase: 'retrying' });
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, LAST_PAUSE_MS);
    }
  }
}

async function sendPart(path: string, part: Blob, offset: number, signal: AbortSignal): Promise<number> {
  const headers = {
    ...tus,
    'Content-Type': 'application/offset+octet-stream',
    'Upload-Offset': String(offset),
  };
  const answer = await send('PATCH', path, { headers, body: part, signal, deadlineMs: PART_DEADLINE_MS });
  return Number(answer.headers.get('Upload-Offset'));
}

/** Returns the number of bytes that the service has received. @throws as {@link send}. */
async function received(path: string, signal?: AbortSignal): Promise<number> {
  const answer = await send('HEAD', path, { headers: tus, ...(signal === undefined ? {} : { signal }) });
  return Number(answer.headers.get('Upload-Offset'));
}

/** Returns whether a request may succeed later: no connection, a timeout, another offset, or a busy service. */
function isTemporary(error: unknown): boolean {
  return error instanceof RedfishFailure && [0, 408, 409, 429, 502, 503, 504].includes(error.status);
}

function storedUpload(drive: string): StoredUpload | null {
  const text = localStorage.getItem(keyOf(drive));
  return text === null ? null : (JSON.parse(text) as StoredUpload); // written by `startUpload`
}

function show(drive: string, state: UploadState): void {
  uploads.value = new Map(uploads.value).set(drive, state);
}

function change(drive: string, changed: Partial<UploadState>): void {
  const present = uploads.value.get(drive);
  if (present !== undefined) show(drive, { ...present, ...changed });
}

function base64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}
