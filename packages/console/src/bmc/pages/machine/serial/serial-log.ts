/** The recorded output of a machine's latest boot. */
import { get, openStream } from '../../../redfish/client.js';

interface LogEntry {
  readonly AdditionalDataURI?: string;
}

/**
 * Reads the recorded output of the latest boot.
 * @param machine path of the system.
 * @returns null if there is no record.
 * @throws {RedfishFailure} with status 404 if the service records no output; other errors as {@link get} and
 *   {@link openStream}. Also the error of `fetch` if the record breaks off, or takes more than a minute.
 */
export async function readBootLog(machine: string): Promise<Blob | null> {
  const { Members: entries } = await get<{ readonly Members: readonly LogEntry[] }>(
    `${machine}/LogServices/ConsoleLog/Entries`,
  );
  const uri = entries.findLast(({ AdditionalDataURI }) => AdditionalDataURI !== undefined)?.AdditionalDataURI;
  if (uri === undefined) return null;
  const response = await openStream(uri, { signal: AbortSignal.timeout(60_000) });
  return await response.blob();
}
