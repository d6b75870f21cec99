/**
 * The report definitions of all replicas, in the shared store: an entry for each definition that a
 * client has changed, and one entry that says whether reports are enabled.
 */
import { z } from 'zod';
import { readEntry, repeatUntilStored } from '../replicas/entry-changes.js';
import type { StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { completed, definitionChange, type ReportDefinition, type ReportDefinitions } from './report-definitions.js';

const KIND = 'report';
const SERVICE_KIND = 'report-service';
const SERVICE_ID = 'settings';
/** Both schemas keep members that a newer version of the daemon has added. */
const serviceSchema = z.object({ enabled: z.boolean() }).loose();
const changeSchema = definitionChange.loose();

/**
 * Returns the definitions in the shared store. A machine without an entry, or with an entry that this version
 * cannot read, has the default.
 */
export function openSharedDefinitions(store: SharedStore): ReportDefinitions {
  const cache = new Map<string, { readonly revision: number; readonly definition: ReportDefinition }>();
  const enabled = (): boolean =>
    serviceSchema.safeParse(store.get(SERVICE_KIND, SERVICE_ID)?.value).data?.enabled ?? true;
  const changeOf = (entry: StoredEntry | undefined) => changeSchema.safeParse(entry?.value).data ?? {};
  /**
   * Changes an entry.
   * @throws {ChangeRefused} if this version cannot read it, or other replicas change it all the time.
   * @throws {StoreUnavailable} if the store does not answer.
   */
  const changeEntry = (
    what: string,
    [kind, id]: readonly [string, string],
    changed: (entry: StoredEntry | undefined) => object,
  ): Promise<void> =>
    repeatUntilStored(what, async () => {
      await store.sync();
      const entry = store.get(kind, id);
      const isStored = await store.commit([{ kind, id, expected: entry?.revision ?? 0, value: changed(entry) }]);
      return isStored ? { result: undefined } : undefined;
    });
  let known = '';
  return {
    get enabled() {
      return enabled();
    },
    setEnabled: async (wanted) => {
      if (wanted === enabled()) return;
      const what = 'the settings of telemetry';
      await changeEntry(what, [SERVICE_KIND, SERVICE_ID], (entry) => ({
        ...readEntry(what, entry, serviceSchema),
        enabled: wanted,
      }));
    },
    get(uuid) {
      const entry = store.get(KIND, uuid);
      const revision = entry?.revision ?? 0;
      const cached = cache.get(uuid);
      if (cached?.revision === revision) return cached.definition;
      const definition = completed(changeOf(entry));
      cache.set(uuid, { revision, definition });
      return definition;
    },
    change(uuid, wanted) {
      const what = 'the report definition';
      return changeEntry(what, [KIND, uuid], (entry) => ({ ...readEntry(what, entry, changeSchema), ...wanted }));
    },
    async retain(uuids) {
      for (const uuid of cache.keys()) if (!uuids.has(uuid)) cache.delete(uuid);
      const obsolete = store.list(KIND).filter(({ id }) => !uuids.has(id));
      if (obsolete.length > 0) await store.commit(obsolete.map(({ id }) => ({ kind: KIND, id, value: null })));
    },
    onChange: (listener) =>
      store.onChange(() => {
        const current = [...store.list(KIND), ...store.list(SERVICE_KIND)].map(
          ({ id, revision }) => `${id} ${revision}`,
        );
        if (current.join() === known) return;
        known = current.join();
        listener();
      }),
  };
}
