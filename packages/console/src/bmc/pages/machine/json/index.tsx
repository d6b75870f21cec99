/** The Redfish JSON of a machine. */
import { ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { useResource } from '../../../resource.js';
import type { TabProps } from '../tab.js';

/** The tab. */
export default function JsonTab({ machine }: TabProps) {
  const { body, error, reload } = useResource<object>(machine['@odata.id']);
  if (error !== null) return <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  if (body === null) return <Loading />;
  return (
    <pre class="card json" tabIndex={0}>
      {JSON.stringify(body, null, 2)}
    </pre>
  );
}
