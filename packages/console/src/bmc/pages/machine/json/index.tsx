/** The Redfish JSON of a machine, and of all resources that its links lead to. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { useResource } from '../../../resource.js';
import { machineTexts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';

/** The tab JSON. It begins with the ComputerSystem. The links in the text open other resources. */
export default function JsonTab({ machine }: TabProps) {
  /** The URIs that led to the open resource, which is the last one. */
  const trail = useSignal<readonly string[]>([machine['@odata.id']]);
  const uri = trail.value.at(-1) ?? machine['@odata.id'];
  const { body, etag, error, reload } = useResource<object>(uri);
  return (
    <>
      <div class="row tools" role="group" aria-label={machineTexts.resource}>
        <Button disabled={trail.value.length === 1} onClick={() => (trail.value = trail.value.slice(0, -1))}>
          {machineTexts.back}
        </Button>
        <code class="uri">{uri}</code>
        {etag === null ? null : <small class="quiet">ETag {etag}</small>}
        <Button onClick={() => void reload()}>{machineTexts.readAgain}</Button>
      </div>
      {error !== null ? (
        <ErrorState message={messageOf(error)} onRetry={() => void reload()} />
      ) : body === null ? (
        <Loading />
      ) : (
        <pre class="card json" tabIndex={0}>
          <JsonText body={body} onOpen={(next) => (trail.value = [...trail.value, next])} />
        </pre>
      )}
    </>
  );
}

/** JSON with links: a URI that is the value of a property opens its resource. A URI with a fragment does not. */
function JsonText({ body, onOpen }: { readonly body: object; readonly onOpen: (uri: string) => void }) {
  // `split` also returns the two groups, so every third part is a URI.
  const parts = JSON.stringify(body, null, 2).split(/(": ")(\/redfish\/v1[^"#]*)(?=")/);
  return (
    <>
      {parts.map((part, index) =>
        index % 3 !== 2 ? (
          part
        ) : (
          <button key={index} type="button" class="link" onClick={() => onOpen(part)}>
            {part}
          </button>
        ),
      )}
    </>
  );
}
