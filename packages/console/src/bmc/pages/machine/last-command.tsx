/** The last action of the user as a `curl` command. */
import { Button } from '../../../ui/button.js';
import { copyText } from '../../../ui/copy.js';
import { machineTexts, uiTexts as texts } from '../../../texts/index.js';
import { curlCommand } from '../../curl.js';
import { lastAction } from '../../redfish/client.js';
import { token } from '../../redfish/session.js';

/** Shows the command, if the last action concerned this machine. */
export function LastCommand({ id }: { readonly id: string }) {
  const action = lastAction.value;
  if (action === null || !action.path.split('/').includes(encodeURIComponent(id))) return null;
  const hasToken = token() !== null;
  const command = curlCommand(action, { origin: location.origin, hasToken });
  return (
    <section class="last-command" aria-label={machineTexts.curl}>
      <header class="row">
        <h2 class="grow">{machineTexts.curl}</h2>
        {hasToken ? <small>{machineTexts.curlHint}</small> : null}
        <Button kind="quiet" onClick={() => void copyText(command)}>
          {texts.copy}
        </Button>
      </header>
      <pre tabIndex={0}>{command}</pre>
    </section>
  );
}
