/** The form that inserts an image from a server. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { Checkbox, SelectField, TextField } from '../../../../ui/field.js';
import { holdWork } from '../../../../ui/frame/leaving.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { Progress } from '../../../../ui/progress.js';
import { ErrorState, messageOf } from '../../../../ui/states.js';
import { cancelInsert, inserts, insertImage } from '../../../redfish/inserts.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { DriveProps } from './drive.js';

/** The form. If the service runs the insert as a task, the form shows the progress and a button that cancels it. */
export function UrlForm({ drive, onChange }: DriveProps) {
  const action = drive.Actions?.['#VirtualMedia.InsertMedia'];
  const methods = action?.['TransferMethod@Redfish.AllowableValues'] ?? [];
  // When the user returns from another page, the form shows the URL of the running or failed insert.
  const [url, setUrl] = useState(inserts.value.get(drive['@odata.id'])?.url ?? '');
  const [method, setMethod] = useState('Upload');
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [isProtected, setProtected] = useState(true);
  const [isVerified, setVerified] = useState(drive.VerifyCertificate === true);
  const running = inserts.value.get(drive['@odata.id']);
  const isBusy = running?.error === null;
  const progress = running?.progress ?? null;
  // Whether the user would lose input by leaving this page. A running insert continues on other pages. After a failed
  // insert, `inserts` has its URL, but not its login. So the user can lose only a URL that `inserts` does not have, or
  // a login while no insert runs.
  const hasLogin = user !== '' || password !== '';
  const isUnsent = (url !== '' && url !== running?.url) || (hasLogin && !isBusy);
  useLayoutEffect(() => (isUnsent ? holdWork({ lost: mediaTexts.unsent, end: 'page' }) : undefined), [isUnsent]);

  const insert = async (): Promise<void> => {
    const login = user === '' ? null : { user, password };
    const isDone = await insertImage(drive, { url, method, isProtected, isVerified, login });
    if (isDone) {
      for (const set of [setUrl, setUser, setPassword]) set('');
      showToast('good', mediaTexts.inserted(url, drive.Name));
    }
    await onChange();
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void insert();
      }}
    >
      <TextField label={mediaTexts.url} hint={mediaTexts.urlHint} type="url" value={url} onValue={setUrl} isRequired />
      <SelectField
        label={mediaTexts.method}
        value={method}
        onValue={setMethod}
        options={methods.map((each) => [each, mediaTexts.methods[each] ?? each] as const)}
      />
      <div class="form-grid">
        <TextField label={mediaTexts.user} value={user} onValue={setUser} autocomplete="off" />
        <TextField
          label={mediaTexts.password}
          type="password"
          value={password}
          onValue={setPassword}
          autocomplete="new-password"
        />
      </div>
      <Checkbox label={mediaTexts.verify} isChecked={isVerified} onChange={setVerified} />
      <Checkbox label={mediaTexts.protect} isChecked={isProtected} onChange={setProtected} />
      {progress === null ? null : <Progress label={mediaTexts.inserting(running?.url ?? '')} value={progress.value} />}
      {running === undefined || running.error === null ? null : <ErrorState message={messageOf(running.error)} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {mediaTexts.insert}
        </Button>
        {running === undefined || progress === null ? null : (
          <Button
            onClick={() => void cancelInsert(running).catch((thrown: unknown) => showToast('bad', messageOf(thrown)))}
          >
            {mediaTexts.cancel}
          </Button>
        )}
      </div>
    </form>
  );
}
