/** Secure Boot: its state, its switch, and its keys. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { patch, post } from '../../../redfish/client.js';
import { completeTask } from '../../../redfish/tasks.js';
import { useResource } from '../../../resource.js';
import { firmwareTexts as texts } from '../../../../texts/index.js';
import { Facts } from '../facts.js';
import { Loaded } from '../../../loaded.js';

interface SecureBoot {
  readonly SecureBootEnable?: boolean | null;
  readonly SecureBootCurrentBoot?: string | null;
  readonly SecureBootMode?: string | null;
  /** Absent: the service cannot change Secure Boot. */
  readonly '@Redfish.WriteableProperties'?: readonly string[];
  readonly Actions?: {
    readonly '#SecureBoot.ResetKeys'?: {
      readonly target: string;
      readonly 'ResetKeysType@Redfish.AllowableValues'?: readonly string[];
    };
  };
}

/** Properties of `SecureBootCard`. */
interface SecureBootCardProps {
  readonly path: string;
  /** The name of the machine. */
  readonly name: string;
  readonly mayChange: boolean;
}

/** The card. Each of its buttons opens a confirmation, because each change resets variables of the firmware. */
export function SecureBootCard({ path, name, mayChange }: SecureBootCardProps) {
  const resource = useResource<SecureBoot>(path);
  return (
    <section class="card" aria-label={texts.secureBoot}>
      <h2>{texts.secureBoot}</h2>
      <Loaded resource={resource}>
        {(body) => (
          <div class="stack">
            <Facts
              facts={[
                [texts.nextBoot, body.SecureBootEnable === true ? texts.on : texts.off],
                [texts.currentBoot, texts.boots[body.SecureBootCurrentBoot ?? ''] ?? body.SecureBootCurrentBoot],
                [texts.mode, texts.modes[body.SecureBootMode ?? ''] ?? body.SecureBootMode],
              ]}
            />
            {mayChange ? <Changes path={path} name={name} body={body} onDone={resource.reload} /> : null}
          </div>
        )}
      </Loaded>
    </section>
  );
}

function Changes({
  path,
  name,
  body,
  onDone,
}: {
  readonly path: string;
  readonly name: string;
  readonly body: SecureBoot;
  readonly onDone: () => Promise<void>;
}) {
  const asked = useSignal<string | null>(null);
  const reset = body.Actions?.['#SecureBoot.ResetKeys'];
  const change = async (kind: string): Promise<void> => {
    const isSwitch = kind === 'enable' || kind === 'disable';
    await completeTask(
      isSwitch
        ? await patch(path, { SecureBootEnable: kind === 'enable' })
        : await post(reset?.target ?? '', { ResetKeysType: kind }),
      () => undefined,
    );
    await onDone();
  };
  const kinds = [
    ...(body['@Redfish.WriteableProperties'] === undefined
      ? []
      : [body.SecureBootEnable === true ? 'disable' : 'enable']),
    ...(reset?.['ResetKeysType@Redfish.AllowableValues'] ?? []),
  ];
  const question = texts.changes[asked.value ?? ''];
  return (
    <div class="row">
      {kinds
        .filter((kind) => kind in texts.changes)
        .map((kind) => (
          <Button
            key={kind}
            kind={kind === 'enable' ? 'plain' : 'danger'}
            onClick={() => {
              asked.value = kind;
            }}
          >
            {texts.changes[kind]?.label}
          </Button>
        ))}
      {question === undefined ? null : (
        <ConfirmDialog
          title={question.question(name)}
          lost={question.lost}
          confirmLabel={question.label}
          onConfirm={() => change(asked.value ?? '')}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </div>
  );
}
