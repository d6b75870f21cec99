/** The console of model-proxy: the login, the frame, and the live numbers. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button } from '../ui/button.js';
import { preloadPage } from '../ui/frame/pages.js';
import { Shell } from '../ui/frame/shell.js';
import { Badge, ErrorState, Loading, messageOf, Notice } from '../ui/states.js';
import { deployments, modelsError, pollModels } from './api/models.js';
import { loginState, logOut, role, startSession, type Role } from './api/session.js';
import { LoginDialog } from './login-dialog.js';
import { pages } from './pages.js';
import { frameTexts as texts } from '../texts/index.js';

/** The console of model-proxy: the login, and behind it the frame with the current page. */
export function App() {
  const error = useSignal<string | null>(null);
  const start = (): void => {
    error.value = null;
    startSession().catch((thrown: unknown) => {
      error.value = messageOf(thrown);
    });
  };
  useEffect(() => preloadPage(pages), []);
  useEffect(start, []);
  const current = role.value;
  const hasRole = current !== null;
  useEffect(() => (hasRole ? pollModels() : undefined), [hasRole]);

  if (error.value !== null) return <ErrorState title={texts.startFailed} message={error.value} onRetry={start} />;
  const { kind } = loginState.value;
  return (
    <>
      {kind === 'starting' ? <Loading label={texts.starting} /> : null}
      {current === null ? null : (
        <Shell product={texts.product} pages={pages} bar={<Bar role={current} />} notices={noticeOf(current)} />
      )}
      {kind === 'loggedOut' ? <LoginDialog isExpired={hasRole} /> : null}
    </>
  );
}

/** Returns the notice for a console without a master key or a store; null: this role needs none. */
function noticeOf(current: Role) {
  if (current.kind === 'open') return <Notice kind="warn">{texts.noMasterKey}</Notice>;
  return current.kind === 'admin' && !current.hasStore ? <Notice>{texts.noStore}</Notice> : null;
}

/** The right end of the bar: whether the numbers are live, the key, the logout. */
function Bar({ role: current }: { readonly role: Role }) {
  const isLive = deployments.value !== null && modelsError.value === null;
  return (
    <>
      <span role="status">
        <Badge kind={isLive ? 'good' : 'warn'}>{isLive ? texts.live : texts.notLive}</Badge>
      </span>
      <span class="quiet user">
        {current.kind === 'open' ? texts.noLoginNeeded : current.kind === 'admin' ? texts.admin : current.name}
      </span>
      {current.kind === 'open' ? null : <Button onClick={logOut}>{texts.logOut}</Button>}
    </>
  );
}
