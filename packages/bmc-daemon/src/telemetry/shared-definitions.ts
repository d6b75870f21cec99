/** The report definitions of all replicas, in the shared store: an entry for each machine, and one for the service. */
import { z } from 'zod';
import type { SharedStore, StoredEntry } from '../replicas/shared-store.js';
import { StoreUnavailable } from '../replicas/store-unavailable.js';
import { completed, definitionChange, type ReportDefinition, type ReportDefinitions } from './report-definitions.js';

const KIND = 'report';
const SERVICE_KIND = 'report-service';
const SERVICE_ID = 'settings';
const MAX_ATTEMPTS = 5;
const serviceSchema = z.object({ enabled: z.boolean() });

/** Opens the definitions. */
export function openSharedDefinitions(store: SharedStore): ReportDefinitions {
  const cache = new Map<string, { readonly revision: number; readonly definition: ReportDefinition }>();
  const enabled = (): boolean =>
    serviceSchema.safeParse(store.get(SERVICE_KIND, SERVICE_ID)?.value).data?.enabled ?? true;
  const changeOf = (entry: StoredEntry | undefined) => definitionChange.safeParse(entry?.value).data ?? {};
  let known = '';
  return {
    get enabled() {
      return enabled();
    },
    setEnabled: async (wanted) => {
      if (wanted === enabled()) return;
      await store.commit([{ kind: SERVICE_KIND, id: SERVICE_ID, value: { enabled: wanted } }]);
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
    async change(uuid, wanted) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const entry = store.get(KIND, uuid);
        const value = { ...changeOf(entry), ...wanted };
        if (await store.commit([{ kind: KIND, id: uuid, expected: entry?.revision ?? 0, value }])) return;
      }
      throw new StoreUnavailable('changing a report definition: other replicas change it at the same time');
    },
    async retain(uuids) {
      for (const uuid of cache.keys()) if (!uuids.has(uuid)) cache.delete(uuid);
      const obsolete = store.list(KIND).filter(({ id }) => !uuids.has(id));
      if (obsolete.length > 0) await store.commit(obsolete.map(({ id }) => ({ kind: KIND, id, value: null })));
    },
    onChange: (listener) =>
      store.onChange(() => {
        const present = [...store.list(KIND), ...store.list(SERVICE_KIND)].map(
          ({ id, revision }) => `${id} ${revision}`,
        );
        if (present.join() === known) return;
        known = present.join();
        listener();
      }),
  };
}
