/** The form that inserts an image from a server. */
import { useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { Checkbox, SelectField, TextField } from '../../../../ui/field.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { Progress } from '../../../../ui/progress.js';
import { ErrorState, messageOf } from '../../../../ui/states.js';
import { patch, post, remove } from '../../../redfish/client.js';
import { completeTask, type Progress as TaskProgress } from '../../../redfish/tasks.js';
import { mediaTexts } from '../../../texts/en/media.js';
import type { DriveProps } from './drive.js';

/** The form. It shows the progress of the insert, which the user can cancel. */
export function UrlForm({ drive, onChange }: DriveProps) {
  const action = drive.Actions?.['#VirtualMedia.InsertMedia'];
  const methods = action?.['TransferMethod@Redfish.AllowableValues'] ?? [];
  const [url, setUrl] = useState('');
  const [method, setMethod] = useState('Upload');
  const [user, setUser] = useState('');
  const [password, setPassword] = useState('');
  const [isProtected, setProtected] = useState(true);
  const [isVerified, setVerified] = useState(drive.VerifyCertificate === true);
  const [isBusy, setBusy] = useState(false);
  const [progress, setProgress] = useState<TaskProgress | null>(null);
  const [error, setError] = useState<string>();

  const insert = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      if (isVerified !== (drive.VerifyCertificate === true)) {
        await patch(drive['@odata.id'], { VerifyCertificate: isVerified });
      }
      const login = user === '' ? {} : { UserName: user, Password: password };
      const body = { Image: url, TransferMethod: method, WriteProtected: isProtected, ...login };
      await completeTask(await post(action?.target ?? '', body), setProgress);
      showToast('good', mediaTexts.inserted(url, drive.Name));
    } catch (thrown) {
      setError(messageOf(thrown));
    }
    setProgress(null);
    setBusy(false);
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
      <div class="form-grid">
        <SelectField
          label={mediaTexts.method}
          value={method}
          onValue={setMethod}
          options={methods.map((each) => [each, mediaTexts.methods[each] ?? each] as const)}
        />
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
      {progress === null ? null : <Progress label={mediaTexts.inserting(url)} value={progress.value} />}
      {error === undefined ? null : <ErrorState message={error} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {mediaTexts.insert}
        </Button>
        {progress === null ? null : (
          <Button onClick={() => void remove(progress.task).catch((thrown: unknown) => setError(messageOf(thrown)))}>
            {mediaTexts.cancel}
          </Button>
        )}
      </div>
    </form>
  );
}
