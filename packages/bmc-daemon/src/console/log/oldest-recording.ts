/** Finds the console log whose oldest boot the daemon removes next, to free space. */
import type { ConsoleRecording } from './console-log-recording.js';

/**
 * Returns the recording whose oldest removable boot began first; undefined if no recording has one. The
 * last boot of a recording is not removable.
 * @throws the errors of node:fs if a log is unreadable.
 */
export async function findOldest(recordings: readonly ConsoleRecording[]): Promise<ConsoleRecording | undefined> {
  let oldest: { readonly recording: ConsoleRecording; readonly began: string } | undefined;
  for (const recording of recordings) {
    const [first, ...others] = await recording.read((folder) => folder.boots());
    if (first === undefined || others.length === 0) continue;
    if (oldest === undefined || first.began < oldest.began) oldest = { recording, began: first.began };
  }
  return oldest?.recording;
}
