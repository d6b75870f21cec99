/** The form that sends a file of this computer. */
import { useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { Checkbox, Field } from '../../../../ui/field.js';
import { ErrorState, messageOf } from '../../../../ui/states.js';
import { startUpload } from '../../../redfish/uploads.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { DriveProps } from './drive.js';

/** The form that starts the upload of a file of this computer. `UploadView` then shows the progress. */
export function FileForm({ drive }: Pick<DriveProps, 'drive'>) {
  const [file, setFile] = useState<File>();
  const [isProtected, setProtected] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const begin = async (): Promise<void> => {
    if (file === undefined) return;
    setBusy(true);
    try {
      await startUpload(drive['@odata.id'], drive.Oem?.Rackless?.UploadURI ?? '', file, isProtected);
    } catch (thrown) {
      setError(messageOf(thrown));
      setBusy(false);
    }
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <Field label={mediaTexts.file} hint={mediaTexts.fileHint} isRequired>
        {(control) => (
          <input
            class="input"
            type="file"
            required
            {...control}
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      <Checkbox label={mediaTexts.protect} isChecked={isProtected} onChange={setProtected} />
      {error === undefined ? null : <ErrorState message={error} />}
      <div class="row">
        <Button kind="primary" type="submit" isBusy={isBusy} disabled={file === undefined}>
          {mediaTexts.send}
        </Button>
      </div>
    </form>
  );
}
