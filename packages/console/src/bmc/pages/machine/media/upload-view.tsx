/** The progress of an upload, with the buttons that pause, resume and cancel it. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { Field } from '../../../../ui/field.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { formatBytes } from '../../../../ui/format.js';
import { Progress } from '../../../../ui/progress.js';
import { ErrorState } from '../../../../ui/states.js';
import { cancelUpload, forget, pauseUpload, resumeUpload, type UploadState } from '../../../redfish/uploads.js';
import { mediaTexts } from '../../../../texts/index.js';
import type { DriveProps } from './drive.js';

interface UploadViewProps extends DriveProps {
  readonly upload: UploadState;
}

/**
 * The progress of an upload, or the error that ended it. After a reload of the page, the upload continues when the
 * user chooses the same file again.
 */
export function UploadView({ drive, upload, onChange }: UploadViewProps) {
  const uri = drive['@odata.id'];
  const { name, phase, sentBytes, sizeBytes, error } = upload;
  const [isAsking, setAsking] = useState(false);
  const [isOther, setOther] = useState(false);
  useEffect(() => {
    if (phase !== 'done') return;
    showToast('good', mediaTexts.inserted(name, drive.Name));
    forget(uri);
    void onChange();
  }, [phase]);
  if (phase === 'failed') return <ErrorState message={error ?? ''} onRetry={() => forget(uri)} />;
  return (
    <div class="stack">
      <Progress
        label={labelOf(upload)}
        value={sentBytes / sizeBytes}
        detail={mediaTexts.amount(formatBytes(sentBytes), formatBytes(sizeBytes))}
      />
      {phase === 'interrupted' ? (
        <Field label={mediaTexts.file} error={isOther ? mediaTexts.otherFile(name) : undefined}>
          {(control) => (
            <input
              class="input"
              type="file"
              {...control}
              onChange={({ currentTarget: { files } }) => {
                const file = files?.[0];
                if (file !== undefined) setOther(!resumeUpload(uri, file));
              }}
            />
          )}
        </Field>
      ) : null}
      <div class="row">
        {phase === 'sending' || phase === 'retrying' ? (
          <Button onClick={() => pauseUpload(uri)}>{mediaTexts.pause}</Button>
        ) : null}
        {phase === 'paused' ? (
          <Button kind="primary" onClick={() => void resumeUpload(uri)}>
            {mediaTexts.resume}
          </Button>
        ) : null}
        <Button onClick={() => setAsking(true)}>{mediaTexts.cancelUpload}</Button>
      </div>
      {isAsking ? (
        <ConfirmDialog
          title={mediaTexts.cancelTitle(name)}
          lost={[mediaTexts.cancelLost]}
          confirmLabel={mediaTexts.cancelUpload}
          dismissLabel={mediaTexts.keepUpload}
          onConfirm={() => cancelUpload(uri)}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </div>
  );
}

function labelOf({ name, phase }: UploadState): string {
  switch (phase) {
    case 'paused':
      return mediaTexts.paused(name);
    case 'retrying':
      return mediaTexts.retrying(name);
    case 'interrupted':
      return mediaTexts.interrupted(name);
    case 'finishing':
      return mediaTexts.finishing(name);
    default:
      return mediaTexts.sending(name);
  }
}
